// Trust: why copies must be checked when they are opened, and until when (D10).
//
// While a dataset has a reason for doubt, its word in the table is not 0. Programs then compare
// each copy with the origin when they open it. Reasons are numbered; the number of a reason is
// its epoch. A comparison knows the newest reason that it answers. It clears that one and older
// ones of the same cause. A reason that arises during a comparison stays for the next one.
//
//   cause        copies      compared
//   kStale       all         by the next whole pass of the sweep, if that finds nothing stale:
//                            a simulation may be rewriting the dataset
//   kUnwatched   all         at once
//   kYoung       one frame   kYoungMs later; beyond kMostYoung frames all copies are, together
//
// A copy is young if it was taken within kYoungMs of its origin's last change. The reason is
// that a frame that a simulation is writing looks like any other between two writes. If a
// writer cannot be excluded, a renamed frame counts as changed, and so does a frame with new
// times or rights. The dataset is marked before the copy gets its name. A pushed frame is never
// young, because its writer says that it is complete. An invalidated frame is young, too: a
// program may still have it open for writing, and may write after the next copy was taken.
//
// The sweep compares whole datasets. The service compares young copies, on a thread for each
// dataset: neither a long pass nor a hanging origin of another dataset delays them. If the
// origin cannot be asked, the reason stays.
//
// Thread safe. No input or output.
#pragma once
#include <sys/stat.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "bodhi/lean/frames/table.h"

namespace zazen {

inline constexpr std::int64_t kYoungMs = 60'000;
inline constexpr std::size_t kMostYoung = 32'768;  // of a dataset: programs make them

// True if the frame changed lately, by its mtime or ctime and this machine's clock.
bool changed_lately(const struct stat& file);
bool was_touched_lately(const struct stat& file);

class Trust {
 public:
  // A comparison that should be made.
  struct Due {
    std::uint32_t dataset = 0;
    DoubtCause cause = {};
    std::uint64_t epoch = 0;       // of the newest reason that it answers
    bool is_whole = false;         // all copies
    std::vector<FrameSeq> frames;  // otherwise
  };

  // `mark` gets the dataset's word for the table. Called with the lock held.
  using Mark = std::function<void(std::uint32_t dataset, std::uint32_t doubts)>;
  explicit Trust(Mark mark);

  // The frame counts for kYoung only.
  void doubt(std::uint32_t dataset, DoubtCause cause, FrameSeq frame = 0,
             std::int64_t now_ms = monotonic_ms());
  // Young copies do not count: the next start of the daemon finds them by itself.
  bool is_in_doubt(std::uint32_t dataset) const;

  std::optional<Due> due(std::uint32_t dataset, DoubtCause cause,
                         std::int64_t now_ms = monotonic_ms()) const;
  // Waits for a dataset that must be compared at once, and returns the one that has waited
  // longest. Nothing after until_ms or a stop request.
  std::optional<Due> await_unwatched(std::int64_t until_ms, std::stop_token stop);
  // Ends a comparison: it was made, or it must be repeated.
  void clear(const Due& done);
  void try_again(const Due& failed);

 private:
  struct Reason {
    std::uint64_t epoch;
    std::optional<FrameSeq> frame;  // nothing: all
    std::int64_t due_ms;
  };
  using Reasons = std::vector<Reason>;  // the oldest first

  std::uint32_t doubts(std::uint32_t dataset) const;
  std::optional<Due> find_due(std::uint32_t dataset, DoubtCause cause,
                              std::int64_t now_ms) const;

  const Mark mark_;
  mutable std::mutex mutex_;
  std::condition_variable_any doubted_;
  std::uint64_t epoch_ = 0;
  // By dataset and cause. Each has room for one: a doubt about all copies needs no memory.
  std::vector<std::array<Reasons, 3>> open_;
};

}  // namespace zazen
