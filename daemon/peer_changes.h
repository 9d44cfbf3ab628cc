// PeerChanges: changed frames, between this node and the nodes in `peers`, in both directions.
// It is all that the service knows of them: programs and comparisons say here what has changed,
// other daemons' notices come in here, and `explain` asks here why a copy is gone.
//
// Without peers nothing is watched, sent or waited for. Thread safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "daemon/change_notices.h"
#include "daemon/changing_frames.h"
#include "daemon/drop_history.h"
#include "daemon/reported_changes.h"
#include "daemon/sample.h"

namespace zazen {

class PeerChanges {
 public:
  // With more stale copies in one comparison the dataset was written anew: the peers are told
  // so.
  static constexpr std::size_t kMostStale = 8;
  static constexpr char kDiffered[] = "it differed from the origin";
  static constexpr char kChanged[] =
      "a program of this node changed it, or had it open for writing";

  PeerChanges(const Config& config, Store& store, std::shared_ptr<KeyRing> keys,
              ReportedChanges::Hooks hooks);

  // A program of this node changes the frame, has it open for writing, or has found its copy to
  // be stale. `dropped` is why there is no copy any more; "": there was none.
  void changed(std::uint32_t dataset, FrameSeq seq, const Peer& client, std::string dropped);
  // A program of this node opens the frame for writing, and has not changed it yet. If this
  // node's copy is of the version that the origin has, the peers are told of the next one only.
  void opened(std::uint32_t dataset, FrameSeq seq, const Peer& client);
  // A comparison has found these copies to be stale.
  void found_stale(std::uint32_t dataset, const std::vector<ExactCopy>& copies);
  // Programs may have changed frames, and this daemon was not told.
  void missed(std::uint32_t dataset);

  // From another daemon: 0 or an errno.
  int take(std::string_view notice) { return reported_.take(notice); }

  // To be called about once a second, where the disk may be waited for.
  void look_again() { reported_.look_again(); }
  void renew(const Config& next) { notices_.renew(next); }
  bool stop(std::chrono::milliseconds limit);  // false: a thread hangs

  std::string history(std::uint32_t dataset, FrameSeq seq) const {
    return history_.json(dataset, seq);
  }
  std::uint64_t watched() const { return changing_.count(); }
  std::vector<ChangeNotices::PeerFigures> peers() const { return notices_.figures(); }
  ReportedChanges::Figures reported() const { return reported_.figures(); }

 private:
  Store& store_;
  const std::uint64_t life_;
  DropHistory history_;
  ReportedChanges reported_;
  ChangeNotices notices_;
  ChangingFrames changing_;
};

}  // namespace zazen
