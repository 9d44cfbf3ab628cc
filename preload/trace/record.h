// The hooks report here: one call of the program each, with its duration and its call site.
// `measured` runs the call, writes the record and keeps errno.
#pragma once
#include <time.h>

#include <cstdint>

#include "preload/calls/hook.h"
#include "preload/trace/tracing.h"

#define ZAZEN_CALLER __builtin_return_address(0)

namespace zazen::trace {

void find_shim();       // zazen_last_open, if libzazen.so is there
bool shim_is_loaded();  // if not, no file is known to be a frame

void forget_last_open();
void record_open(int fd, std::uint64_t nanoseconds, const void* caller);
void record_read(int fd, std::uint64_t bytes, std::uint64_t nanoseconds, const void* caller);
void record_map(int fd, std::uint64_t bytes, std::uint64_t nanoseconds, const void* caller);
void record_close(bool frame, std::uint64_t nanoseconds, const void* caller);

inline std::uint64_t now() {
  struct timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// record(result, nanoseconds) is called after the call, if this thread is traced.
template <class Call, class Record>
auto measured(Call call, Record record) {
  if (!is_tracing()) [[unlikely]]
    return call();
  std::uint64_t start = now();
  auto result = call();
  std::uint64_t end = now();
  ErrnoKeeper keep;
  record(result, end - start);
  return result;
}

}  // namespace zazen::trace
