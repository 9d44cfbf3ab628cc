// One rank of a divided job checks whether the program divides the list a second time, and
// warns once on standard error. This needs no communication. It is rank 1, which sees both
// patterns: files[rank::size], and names that rank 0 distributes. In other ranks a hit costs
// one load.
#pragma once
#include "preload/process/current_view.h"

namespace zazen {

extern std::atomic<bool> watches_reading;

inline bool reading_is_watched() {
  return watches_reading.load(std::memory_order_relaxed);
}

void watch_reading(bool does, const View* rank_0, const Tally* of_rank_0);  // PluginHost's

// To be called when a frame was opened for the first time.
void look_at_open(const CurrentView& view, std::uint32_t dataset, FrameSeq seq);

}  // namespace zazen
