// CrashReport: the daemon's last words. On SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT it
// writes version, signal, address, thread and the stack to stderr, as lines of the log, and
// dies by the same signal, with a core dump as ever. An uncaught exception is named, then
// aborts.
//
// In the handler there are no locks and no heap: libunwind walks the stack, names of functions
// come as the linker knows them (c++filt makes them readable), and a stripped module is told by
// its path and the offset that addr2line takes.
#pragma once
#include <cstddef>

namespace zazen {

// For the whole process, once, before there are threads.
void install_crash_report();

// A stack for the handler of the thread that owns this: without one, a thread whose own stack
// has overflowed dies without a report. install_crash_report() gives one to its thread.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  void* memory_;
};

}  // namespace zazen
