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

using zazen::trace::late;
using zazen::trace::next;

ZAZEN_HOOK ssize_t read(int fd, void* out, size_t size) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(read, (fd, out, size), ::syscall(SYS_read, fd, out, size));
  });
}

ZAZEN_HOOK ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(pread, (fd, out, size, offset),
                      ::syscall(SYS_pread64, fd, out, size, offset));
  });
}

ZAZEN_HOOK ssize_t pread64(int fd, void* out, size_t size, off_t offset) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(pread64, (fd, out, size, offset),
                      ::syscall(SYS_pread64, fd, out, size, offset));
  });
}

ZAZEN_HOOK ssize_t readv(int fd, const struct iovec* parts, int count) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(readv, (fd, parts, count), ::syscall(SYS_readv, fd, parts, count));
  });
}

ZAZEN_HOOK ssize_t preadv(int fd, const struct iovec* parts, int count, off_t offset) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(preadv, (fd, parts, count, offset),
                      ::syscall(SYS_preadv, fd, parts, count, offset, 0L));
  });
}

ZAZEN_HOOK ssize_t preadv64(int fd, const struct iovec* parts, int count, off_t offset) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(preadv64, (fd, parts, count, offset),
                      ::syscall(SYS_preadv, fd, parts, count, offset, 0L));
  });
}

ZAZEN_HOOK ssize_t preadv2(int fd, const struct iovec* parts, int count, off_t offset,
                           int flags) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(preadv2, (fd, parts, count, offset, flags),
                      ::syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags));
  });
}

ZAZEN_HOOK ssize_t preadv64v2(int fd, const struct iovec* parts, int count, off_t offset,
                              int flags) {
  return traced_read(fd, ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(preadv64v2, (fd, parts, count, offset, flags),
                      ::syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags));
  });
}

// The fortified forms end the program if the buffer is too small; libc does that.
ZAZEN_HOOK ssize_t __read_chk(int fd, void* out, size_t size, size_t capacity) {
  return traced_read(fd, ZAZEN_CALLER,
                     [&] { return late(next.__read_chk)(fd, out, size, capacity); });
}

ZAZEN_HOOK ssize_t __pread_chk(int fd, void* out, size_t size, off_t offset, size_t capacity) {
  return traced_read(fd, ZAZEN_CALLER,
                     [&] { return late(next.__pread_chk)(fd, out, size, offset, capacity); });
}

ZAZEN_HOOK ssize_t __pread64_chk(int fd, void* out, size_t size, off_t offset,
                                 size_t capacity) {
  return traced_read(fd, ZAZEN_CALLER,
                     [&] { return late(next.__pread64_chk)(fd, out, size, offset, capacity); });
}
