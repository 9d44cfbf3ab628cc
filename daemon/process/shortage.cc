#include "daemon/process/shortage.h"

#include <atomic>

#include "bodhi/lean/frames/table.h"
#include "daemon/process/log.h"

namespace zazen {

void note_shortage(const std::exception& error) noexcept {
  static std::atomic<std::int64_t> said_second = -1;
  const std::int64_t second = monotonic_ms() / 1000;
  if (said_second.exchange(second) == second) return;
  try {
    log_line(LogLevel::kWarn, "shortage", {{"error", error.what()}});
  } catch (const std::bad_alloc&) {
    // There is no memory for the line, either.
  }
}

}  // namespace zazen
