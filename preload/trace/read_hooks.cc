// read and its variants, on descriptors. The end of a file is a read of no bytes; a failed read
// is not counted.
#include "preload/trace/next.h"
#include "preload/trace/record.h"

namespace {

template <class Call>
ssize_t traced_read(int fd, const void* caller, Call call) {
  return zazen::trace::measured(call, [&](ssize_t bytes, std::uint64_t nanoseconds) {
    if (bytes < 0) return;
    zazen::trace::record_read(fd, static_cast<std::uint64_t>(bytes), nanoseconds, caller);
  });
}

}  // namespace

// The last argument is the system call for a function that is not known yet.
#define READ_HOOK(name, parameters, arguments, instead)                       \
  ZAZEN_HOOK ssize_t name parameters {                                        \
    return traced_read(fd, ZAZEN_CALLER,                                      \
                       [&] { return ZAZEN_NEXT(name, arguments, instead); }); \
  }
#define PREAD_HOOK(name)                                                                   \
  READ_HOOK(name, (int fd, void* out, size_t size, off_t offset), (fd, out, size, offset), \
            ::syscall(SYS_pread64, fd, out, size, offset))
#define PREADV_HOOK(name)                                                       \
  READ_HOOK(name, (int fd, const struct iovec* parts, int count, off_t offset), \
            (fd, parts, count, offset), ::syscall(SYS_preadv, fd, parts, count, offset, 0L))
#define PREADV2_HOOK(name)                                                                 \
  READ_HOOK(name, (int fd, const struct iovec* parts, int count, off_t offset, int flags), \
            (fd, parts, count, offset, flags),                                             \
            ::syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags))

READ_HOOK(read, (int fd, void* out, size_t size), (fd, out, size),
          ::syscall(SYS_read, fd, out, size))
READ_HOOK(readv, (int fd, const struct iovec* parts, int count), (fd, parts, count),
          ::syscall(SYS_readv, fd, parts, count))
PREAD_HOOK(pread)
PREAD_HOOK(pread64)
PREADV_HOOK(preadv)
PREADV_HOOK(preadv64)
PREADV2_HOOK(preadv2)
PREADV2_HOOK(preadv64v2)

// The fortified forms end the program if the buffer is too small; libc does that.
#define CHECKED_HOOK(name, parameters, arguments) \
  READ_HOOK(name, parameters, arguments, zazen::trace::late(zazen::trace::next.name) arguments)

CHECKED_HOOK(__read_chk, (int fd, void* out, size_t size, size_t capacity),
             (fd, out, size, capacity))
CHECKED_HOOK(__pread_chk, (int fd, void* out, size_t size, off_t offset, size_t capacity),
             (fd, out, size, offset, capacity))
CHECKED_HOOK(__pread64_chk, (int fd, void* out, size_t size, off_t offset, size_t capacity),
             (fd, out, size, offset, capacity))
