// Trust: why copies are not to be served unchecked, and until when (D10).
//
// While a reason for doubt about a dataset is open, its word in the table is not 0, and
// programs compare each copy with the origin when they open it. Reasons are numbered; a
// reason's number is its epoch. A comparison knows the newest reason that it answers, and
// clears that one and older ones of the same cause. A reason that comes up during a comparison
// stays for the next one.
//
//   cause        copies      compared
//   kStale       all         by the next whole pass of the sweep, if that finds nothing stale:
//                            a simulation may be rewriting the dataset
//   kUnwatched   all         at once
//   kYoung       one frame   kYoungMs later; beyond kMostYoung frames all copies are, together
//
// A copy is young if it was taken within kYoungMs of its origin's last change: a frame that a
// simulation is writing looks like any other between two writes. Where nobody can tell whether
// the frame has a writer, a renamed frame, or one with other times or rights, counts as changed.
// The dataset is marked before the copy gets its name. A pushed frame is never young, because its writer says that it is
// complete. A frame that was invalidated is young, too: a program may still have it open for
// writing, and may write after the next copy was taken.
//
// The sweep compares whole datasets. The service compares young copies, on a thread for each
// dataset: a long pass or an origin that hangs elsewhere must not keep them young. If the origin
// cannot be asked, the reason stays.
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

// By its mtime, or its ctime, and by this machine's clock.
bool changed_lately(const struct stat& file);
bool was_touched_lately(const struct stat& file);

class Trust {
 public:
  // A comparison that is due.
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
  // Apart from young copies, which the next start of the daemon finds by itself.
  bool is_in_doubt(std::uint32_t dataset) const;

  std::optional<Due> due(std::uint32_t dataset, DoubtCause cause,
                         std::int64_t now_ms = monotonic_ms()) const;
  // Waits for a dataset that is to be compared at once, the longest due one first. Nothing: it
  // is until_ms, or a stop was requested.
  std::optional<Due> await_unwatched(std::int64_t until_ms, std::stop_token stop);
  // The comparison was made, or it has to be tried again.
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
