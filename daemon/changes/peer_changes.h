// PeerChanges: changed frames, between this node and the nodes in `peers`, in both directions.
// It is all that the service knows of them: programs and comparisons say here what has changed,
// other daemons' notices come in here, and `explain` asks here why a copy is gone.
//
// Without peers nothing is watched, sent or waited for. Thread safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/changes/drop_history.h"
#include "daemon/changes/reported_changes.h"
#include "daemon/link/link_messages.h"
#include "daemon/validation/sample.h"

namespace zazen {

class PeerChanges {
 public:
  // With more stale copies in one comparison the dataset was written anew: the peers are told
  // so.
  static constexpr std::size_t kMostStale = 8;
  static constexpr char kDiffered[] = "it differed from the origin";
  static constexpr char kChanged[] =
      "a program of this node changed it, or had it open for writing";

  struct Hooks {
    // A worker watches the frame, and tells each version of it.
    std::function<void(std::uint32_t dataset, FrameSeq seq)> watch;
    // A worker tells the peers.
    std::function<void(const TellPeers& news)> tell;
  };
  PeerChanges(const Config& config, Store& store, ReportedChanges::Hooks reported, Hooks hooks);

  // There is no copy any more; `why` is a phrase for people.
  void dropped(std::uint32_t dataset, FrameSeq seq, const char* why);
  // The origin has this version of the frame.
  void tell(const Tell& news);
  // Any frame of the dataset may have changed.
  void distrust(std::uint32_t dataset);
  // The worker that tells the peers has begun: the peers learn that this daemon lives. `again`:
  // another one has ended, and what it had not told is lost.
  void greet(bool again);
  // A comparison has found these copies to be stale.
  void found_stale(std::uint32_t dataset, const std::vector<ExactCopy>& copies);
  // Programs may have changed frames, and this daemon was not told.
  void missed(std::uint32_t dataset);

  // From another daemon: 0 or an errno.
  int take(std::string_view notice) { return reported_.take(notice); }

  // To be called about once a second, where the disk may be waited for.
  void look_again() { reported_.look_again(); }

  std::string history(std::uint32_t dataset, FrameSeq seq) const {
    return history_.json(dataset, seq);
  }
  ReportedChanges::Figures reported() const { return reported_.figures(); }

 private:
  const Config& config_;
  const Hooks hooks_;
  const std::uint64_t life_;
  DropHistory history_;
  ReportedChanges reported_;
};

}  // namespace zazen
