// The kernel's own answers, asked by the instruction itself: no library, hooked or not, is
// between. The test compares the answers of hooked calls with them.
#pragma once
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

namespace exerciser::kernel {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;  // a negative errno
}

inline long as_long(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

inline int stat_at(int dirfd, const char* path, struct stat* st, int flags) {
  return static_cast<int>(call(SYS_newfstatat, dirfd, as_long(path), as_long(st), flags));
}

inline long write(int fd, const void* bytes, unsigned long count) {
  return call(SYS_write, fd, as_long(bytes), static_cast<long>(count));
}

inline long read(int fd, void* bytes, unsigned long count) {
  return call(SYS_read, fd, as_long(bytes), static_cast<long>(count));
}

}  // namespace exerciser::kernel
