// mmap of a file: counts the mapped bytes. Later reads from memory, and the time of page
// faults, are not visible here. Mappings without a file, as allocators make them, are not
// counted.
#include "preload/trace/next.h"
#include "preload/trace/record.h"

namespace {

template <class Call>
void* traced_mmap(int flags, int fd, size_t size, const void* caller, Call call) {
  if ((flags & MAP_ANONYMOUS) != 0) return call();
  return zazen::trace::measured(call, [&](void* place, std::uint64_t nanoseconds) {
    if (place != MAP_FAILED) zazen::trace::record_map(fd, size, nanoseconds, caller);
  });
}

}  // namespace

#define MMAP_HOOK(name)                                                                        \
  ZAZEN_HOOK void* name(void* place, size_t size, int protection, int flags, int fd,           \
                        off_t offset) {                                                        \
    return traced_mmap(flags, fd, size, ZAZEN_CALLER, [&] {                                    \
      return ZAZEN_NEXT(name, (place, size, protection, flags, fd, offset),                    \
                        reinterpret_cast<void*>(                                               \
                            ::syscall(SYS_mmap, place, size, protection, flags, fd, offset))); \
    });                                                                                        \
  }
MMAP_HOOK(mmap)
MMAP_HOOK(mmap64)
