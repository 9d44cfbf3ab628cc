// The call site: the innermost stack frame in the program itself. So a read by a library
// (libhdf5, libgfortran, libstdc++) shows as the program's line that called the library. A
// thread may have no such frame, because a library started it. Then the call site is where it
// left the libraries that every program has (libc, libstdc++, ours).
//
// Most calls come directly from the program and cost a comparison; only the others cost a walk.
#pragma once
#include <cstdint>

#include "preload/trace/callsites.h"

namespace zazen::trace {

// Finds the program's addresses and loads libzazen-callsites.so from our own directory.
void find_program();

// The return address of the program's call, for a hook that `caller` called.
std::uintptr_t call_site(const void* caller);

bool is_in_signal_handler();

// The position of an address: the module's name without directories, and the offset in it as
// addr2line expects it. False if there is no module.
struct ModuleOffset {
  const char* module;
  std::uintptr_t offset;
};
bool module_of(std::uintptr_t address, ModuleOffset* out);

// Null if it could not be loaded.
const CallSites* loaded_callsites();

// To be called around fork: no other thread is inside libunwind when the child is made.
void hold_walks();
void release_walks();
// To be called in the child of a process with threads. A thread of the parent may have held the
// loader's lock, which libunwind needs and which then stays locked. From then on, call sites
// are the hooks' direct callers.
void end_walks();

}  // namespace zazen::trace
