// ReportedChanges: what other daemons tell this one about changed frames
// (bodhi/node/change_notice.h).
//
// A copy of an older version than the origin has, by the sender's word, is dropped at once; so
// is the copy of a frame that is gone, if it was there before the sender looked. The sender is
// believed because it has proved that it may push frames, which is more; at worst its word
// costs a fetch. This node's own look at the origin is not asked: it may hang, and a network
// file system may show old attributes for a minute. Any other copy that differs is newer than
// the notice, or nobody knows: it is compared with the origin. A native that waits for its
// origin stays.
//
// A sender that is met for the first time has just started, or did so while this node did not
// hear. Changes on its node before that were told to nobody. So every dataset is in doubt until
// all copies have been compared once, as after an unclean stop.
//
// A fill that was under way may publish an old copy after the notice: so each notice is applied
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
    // These copies are compared with the origin, which may take its time elsewhere.
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

  // 0 or an errno: EINVAL no notice, ELOOP it is this daemon's own. Names of no dataset or no
  // frame of this node are passed over.
  int take(std::string_view body);
  // To be called about once a second.
  void look_again();
  Figures figures() const;

 private:
  struct Told {
    FrameSeq seq;
    FrameVersion version;
    std::string node;
    std::int64_t looked_ns;         // when the sender did, by this node's clock
    std::int64_t due_ms, pause_ms;  // to be applied again
  };
  enum class Judgement { kCurrent, kStale, kUnknown };

  void meet(const ChangeNotice& notice);
  void put_in_doubt(std::uint32_t dataset, const std::string& why);
  std::vector<Told> read_frames(std::uint32_t dataset, const ChangeNotice& notice) const;
  Judgement judge(std::uint32_t dataset, const Told& told, ExactCopy* copy) const;
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
