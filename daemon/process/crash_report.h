// CrashReport: a report of a crash. On SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT the daemon
// writes version, signal, address, thread and the stack to stderr, as lines of the log. Then it
// dies by the same signal, with a core dump as usual. An uncaught exception is named, then
// aborts.
//
// The handler uses no locks and no heap. libunwind walks the stack. Function names are the
// linker's (c++filt makes them readable). For a stripped module the report has its path and the
// offset for addr2line.
#pragma once
#include <cstddef>

namespace zazen {

// Installs the handler for the whole process. Called once, before there are threads.
void install_crash_report();

// A stack for the handler, for the thread that owns this. Without one, a thread whose stack has
// overflowed dies without a report. install_crash_report() gives one to its own thread.
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
