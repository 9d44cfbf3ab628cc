// ReportedChanges: what other daemons tell this one about changed frames
// (bodhi/node/change_notice.h).
//
// A copy that is older than the version in the notice is dropped at once. So is the copy of a
// frame that is gone, if the copy was there before the sender looked. This node does not ask
// the origin itself: the origin may hang, and a network file system may show old attributes for
// a minute. The sender may be believed, because it has proved that it may push frames; a wrong
// notice costs a fetch. Any other copy that differs may be newer than the notice: it is
// compared with the origin. A native that waits for its origin stays.
//
// A sender that is unknown has just started, or started while this node did not hear it. Nobody
// was told of earlier changes on its node. So every dataset is in doubt until all copies have
// been compared once, as after an unclean stop.
//
// A fill that is under way may publish an old copy after the notice. So each notice is applied
// again, 2 and 10 seconds later. Thread safe.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/node/change_notice.h"
#include "daemon/changes/drop_history.h"
#include "daemon/changes/known_lives.h"
#include "daemon/store/store.h"

namespace zazen {

class ReportedChanges {
 public:
  static constexpr std::int64_t kAgainMs = 2'000, kLongestAgainMs = 10'000;
  static constexpr std::size_t kMostAgain = 4'096;

  struct Hooks {
    // Each open of the dataset is checked until all its copies have been compared.
    std::function<void(std::uint32_t dataset)> doubt;
    // These copies are compared with the origin, on another thread if that takes long.
    std::function<void(std::uint32_t dataset, std::vector<FrameSeq> frames)> compare;
  };

  struct Figures {
    std::uint64_t notices = 0;
    std::uint64_t frames = 0;   // that they named
    std::uint64_t dropped = 0;  // of these
    std::uint64_t doubts = 0;   // datasets that were put in doubt
  };

  ReportedChanges(const Config& config, Store& store, DropHistory& history,
                  std::uint64_t own_life, Hooks hooks);

  // 0 or an errno: EINVAL it is no notice, ELOOP it is this daemon's own. Names that are no
  // dataset or no frame of this node are skipped.
  int take(std::string_view body);
  // The caller calls this about once a second.
  void look_again();
  Figures figures() const;

 private:
  struct Told {
    FrameSeq seq;
    FrameVersion version;
    std::string node;
    std::int64_t looked_ns;         // when the sender looked, by this node's clock
    std::int64_t due_ms, pause_ms;  // to be applied again
  };
  enum class Judgement { kCurrent, kStale, kUnknown };

  void meet(const ChangeNotice& notice);
  void put_in_doubt(std::uint32_t dataset, const std::string& why);
  std::vector<Told> read_frames(std::uint32_t dataset, const ChangeNotice& notice) const;
  Judgement weigh(std::uint32_t dataset, const Told& told, ExactCopy* copy) const;
  void apply(std::uint32_t dataset, const std::vector<Told>& frames);
  void drop(std::uint32_t dataset, const std::vector<ExactCopy>& copies,
            const std::vector<Told>& why);

  const Config& config_;
  Store& store_;
  DropHistory& history_;
  const std::uint64_t own_life_;
  const Hooks hooks_;
  KnownLives lives_;
  std::atomic<std::uint64_t> notices_ = 0, frames_ = 0, dropped_ = 0, doubts_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::uint32_t, FrameSeq>, Told> again_;  // by dataset and frame, the last
};

}  // namespace zazen
