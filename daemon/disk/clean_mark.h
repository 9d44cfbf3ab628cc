// CleanMark: the file <cache>/.zazen/clean. A clean stop makes it, and the next start removes
// it before it changes anything. So if the file is there, nothing has changed since the stop.
#pragma once
#include <cstdint>
#include <optional>

namespace zazen {

struct CleanMark {
  std::uint64_t stamp = 0;  // the stamp of the tables that this stop sealed; never 0
  bool reconciled = false;  // files and logs had been compared by then
};

// Removes the mark durably and returns it. Nothing if there is none, if it is garbled, or if it
// cannot be removed.
std::optional<CleanMark> take_clean_mark(int state_fd);

// The caller has put everything else on the disk. 0 or an errno.
int leave_clean_mark(int state_fd, const CleanMark& mark);

}  // namespace zazen
