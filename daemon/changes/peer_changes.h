// PeerChanges: exchanges changed frames between this node and the nodes in `peers`. It is the
// only part of this subject that the service knows. Programs and comparisons report changes
// here, notices of other daemons arrive here, and `explain` asks here why a copy is gone.
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
  // With more stale copies in one comparison the peers are told that the whole dataset may have
  // changed.
  static constexpr std::size_t kMostStale = 8;
  static constexpr char kDiffered[] = "it differed from the origin";
  static constexpr char kChanged[] =
      "a program of this node changed it, or had it open for writing";

  struct Hooks {
    // A worker watches the frame and reports each version of it.
    std::function<void(std::uint32_t dataset, FrameSeq seq)> watch;
    // A worker tells the peers.
    std::function<void(const TellPeers& news)> tell;
  };
  PeerChanges(const Config& config, Store& store, ReportedChanges::Hooks reported, Hooks hooks);

  // The copy is gone; `why` is a phrase for people.
  void dropped(std::uint32_t dataset, FrameSeq seq, const char* why);
  // The origin has this version of the frame.
  void tell(const Tell& news);
  // Any frame of the dataset may have changed.
  void distrust(std::uint32_t dataset);
  // The worker that tells the peers has begun: the peers learn that this daemon lives. `again`:
  // the last one has ended, and changes that it had not told are lost.
  void greet(bool again);
  // A comparison has found that these copies are stale.
  void found_stale(std::uint32_t dataset, const std::vector<ExactCopy>& copies);
  // Programs may have changed frames, and this daemon was not told.
  void missed(std::uint32_t dataset);

  // A notice from another daemon: 0 or an errno.
  int take(std::string_view notice) { return reported_.take(notice); }

  // The caller calls this about once a second, on a thread that may wait for the disk.
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
