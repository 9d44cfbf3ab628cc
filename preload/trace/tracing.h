// Whether calls are traced: in this process, and in this thread at the moment. Lean as the
// shim's guard: one load, never allocates.
#pragma once
#include <sys/mman.h>

#include <atomic>

#include "bodhi/lean/system/raw_call.h"

namespace zazen::trace {

enum class Mode {
  kTracing,
  kWalking,  // a signal handler that interrupts a walk is traced, but must not walk
  kQuiet,    // our own code, which is not traced
};

extern constinit thread_local Mode mode __attribute__((tls_model("initial-exec")));
extern std::atomic<bool> active;  // from the end of the constructor on

inline bool is_tracing() {
  return active.load(std::memory_order_relaxed) && mode != Mode::kQuiet;
}

class ModeScope {
 public:
  explicit ModeScope(Mode wanted) : before_(mode) { mode = wanted; }
  ~ModeScope() { mode = before_; }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  Mode before_;
};

// Memory of the plug-in's own: pages that read as zero and take no memory until they are
// touched. Null if there is none.
inline void* zeroed_pages(std::size_t size) {
  return raw_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

}  // namespace zazen::trace
