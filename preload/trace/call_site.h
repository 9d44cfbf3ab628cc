// The call site: the innermost frame of the stack that lies in the program itself. So a read
// by a library (libhdf5, libgfortran, libstdc++) shows as the line of the program that called
// the library. A thread that has no such frame, because a library started it, is shown where
// it left the libraries that everybody has (libc, libstdc++, ours).
//
// Most calls come from the program directly, and cost a comparison; only the others cost a
// walk.
#pragma once
#include <cstdint>

#include "preload/trace/callsites.h"

namespace zazen::trace {

// Finds out where the program lies and loads libzazen-callsites.so from beside us.
void find_program();

// The return address of the call that came to a hook from `caller`.
std::uintptr_t call_site(const void* caller);

bool is_in_signal_handler();

// Where an address lies: the module's name without directories, and the offset in it as
// addr2line wants it. False if there is no module.
struct ModuleOffset {
  const char* module;
  std::uintptr_t offset;
};
bool module_of(std::uintptr_t address, ModuleOffset* out);

// Null if it could not be loaded.
const CallSites* loaded_callsites();

// Around fork: no other thread is inside libunwind when the child is made.
void hold_walks();
void release_walks();
// In the child of a process with threads: one of them may have held the loader's lock, which
// libunwind takes, for ever now. Call sites are the hooks' direct callers from here on.
void end_walks();

}  // namespace zazen::trace
