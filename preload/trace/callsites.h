// The interface of libzazen-callsites.so to libzazen-trace.so: walks a stack, and names
// addresses. Without it, libzazen-trace.so sees only its direct caller, and only modules and
// offsets.
#pragma once
#include <cstddef>
#include <cstdint>

namespace zazen::trace {

constexpr std::uint32_t kCallSitesVersion = 1;
constexpr char kCallSitesLibrary[] = "libzazen-callsites.so";
constexpr char kCallSitesSymbol[] = "zazen_callsites";

struct SourceLine {
  char function[256];  // "" if it has no name
  char file[128];      // "" if it has no line
  int line;
};

// Called for each frame of a stack, innermost first; false ends the walk.
using Visitor = bool (*)(std::uintptr_t return_address, bool signal_frame, void* context);

struct CallSites {
  std::uint32_t version;
  // Walks the calling thread's stack. Opens no file and does not allocate.
  void (*walk)(Visitor visit, void* context);
  // Describes the calls that return to these addresses. Reads debug information; allocates.
  void (*describe)(const std::uintptr_t* return_addresses, std::size_t count,
                   SourceLine* lines);
};

using CallSitesEntry = const CallSites* (*)();

}  // namespace zazen::trace
