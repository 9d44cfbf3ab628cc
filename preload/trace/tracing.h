// Whether calls are traced: in this process, and in this thread at the moment. Lean as the
// shim's guard: one load, never allocates.
#pragma once
#include <atomic>

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

}  // namespace zazen::trace
