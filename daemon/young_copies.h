// YoungCopies: copies of frames that may still have been in the making when they were taken.
//
// A frame that a simulation is writing looks like any other between two of its writes. So a
// copy that was taken within kYoungMs of its origin's last change is not trusted yet: before
// it gets its name, its dataset is marked in the table, and the programs compare each open
// of that dataset with the origin. kYoungMs later the copy is compared once more; then it is
// trusted, or gone. Pushed frames are whole by the word of who pushes them. A frame that was
// invalidated counts as young, too: who opened it for writing may still have it open, and a
// copy that is taken before he writes is old by then.
//
// Thread safe. No input or output.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "bodhi/base_types.h"

namespace zazen {

inline constexpr std::int64_t kYoungMs = 60'000;

// By its times, and by this machine's clock.
bool changed_lately(const struct stat& file);

class YoungCopies {
 public:
  // `mark` is told how many copies of the dataset are young, whenever that changes.
  using Mark = std::function<void(std::uint32_t dataset, std::uint32_t count)>;
  explicit YoungCopies(Mark mark) : mark_(std::move(mark)) {}

  void note(std::uint32_t dataset, FrameSeq seq, std::int64_t now_ms);

  // Those of the dataset whose time has come. They stay young until settle().
  std::vector<FrameSeq> due(std::uint32_t dataset, std::int64_t now_ms) const;
  void settle(std::uint32_t dataset, const std::vector<FrameSeq>& frames, std::int64_t now_ms);

 private:
  struct Copy {
    std::uint32_t dataset;
    FrameSeq seq;
    std::int64_t due_ms;
  };

  const Mark mark_;
  mutable std::mutex mutex_;
  std::vector<Copy> copies_;                       // in the order of due_ms
  std::map<std::uint32_t, std::uint32_t> counts_;  // of copies_, by dataset
};

}  // namespace zazen
