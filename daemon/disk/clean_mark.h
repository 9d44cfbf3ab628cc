// CleanMark: <cache>/.zazen/clean, which a clean stop leaves and the next start takes away
// before it changes anything. So whoever finds it knows that nothing was changed since.
#pragma once
#include <cstdint>
#include <optional>

namespace zazen {

struct CleanMark {
  std::uint64_t stamp = 0;  // that of the tables which were sealed at this stop; never 0
  bool reconciled = false;  // files and logs had been compared by then
};

// Takes it away, durably. Nothing if there is none, if it is garbled, or if it cannot be
// removed.
std::optional<CleanMark> take_clean_mark(int state_fd);

// To be called when everything else is on the disk. 0 or an errno.
int leave_clean_mark(int state_fd, const CleanMark& mark);

}  // namespace zazen
