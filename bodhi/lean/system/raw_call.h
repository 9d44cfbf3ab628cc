// System calls without libc's wrappers, for code that runs inside a host program. They bypass
// our own hooks and those of any other preloaded library. Each returns the system call's
// result, or -errno; errno itself is kept. Lean.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>

namespace zazen {

// The instruction itself: libc's syscall() is hooked, by the shim among others. The result is
// the kernel's, with errors from -4095 to -1.
inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
#ifdef __x86_64__
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#else
#error "this machine's system call instruction belongs here"
#endif
}

// The kernel reads whole registers: an int would leave half of its register undefined.
template <class T>
long raw_argument(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else {
    return static_cast<long>(value);
  }
}

template <class... Arguments>
long raw_call(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const long all[6] = {raw_argument(arguments)...};
  return system_call(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

inline int raw_open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(raw_call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline int raw_fstat(int fd, struct stat* out) {
  return static_cast<int>(raw_call(SYS_fstat, fd, out));
}

// Maps our own memory. A sanitizer in the host program would see calls of libc's names, but not
// the synchronisation that makes them safe. Null if it fails.
inline void* raw_map(std::size_t size, int protection, int flags, int fd) {
  long result = raw_call(SYS_mmap, nullptr, size, protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
inline void raw_unmap(const void* memory, std::size_t size) {
  raw_call(SYS_munmap, memory, size);
}

class RawFd {  // owns a descriptor and closes it by a raw system call
 public:
  explicit RawFd(int fd) : fd_(fd) {}
  RawFd(const RawFd&) = delete;
  RawFd& operator=(const RawFd&) = delete;
  ~RawFd() {
    if (fd_ >= 0) raw_call(SYS_close, fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Reads until the buffer is full or the file ends; returns the bytes read, or -errno.
inline long raw_read_at(int fd, char* buffer, std::size_t capacity, off_t offset) {
  std::size_t done = 0;
  while (done < capacity) {
    long got = raw_call(SYS_pread64, fd, buffer + done, capacity - done,
                        offset + static_cast<off_t>(done));
    if (got == -EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<long>(done);
}

// Writes all of it, with as many calls as needed; 0 or -errno.
inline int raw_write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    long put = raw_call(SYS_write, fd, bytes, size);
    if (put == -EINTR) continue;
    if (put < 0) return static_cast<int>(put);
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return 0;
}

// "<directory>/<name>" with a NUL; false if it does not fit.
inline bool join_path(const char* directory, const char* name, char* out,
                      std::size_t capacity) {
  std::size_t used = 0;
  for (const char* part : {directory, "/", name}) {
    for (; *part != '\0'; ++part) {
      if (used + 1 >= capacity) return false;
      out[used++] = *part;
    }
  }
  out[used] = '\0';
  return true;
}

}  // namespace zazen
