// The system calls that the shim makes for itself. They bypass all hooks: its own and those of
// other preloaded libraries. Results and errno are libc's.
#pragma once
#include <sys/sysmacros.h>

#include <cstddef>

#include "bodhi/lean/system/fd_link.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen::raw {

template <class... Arguments>
long call(long number, Arguments... arguments) {
  long result = raw_call(number, arguments...);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// For the calls that return 0 or -1.
template <class... Arguments>
int status(long number, Arguments... arguments) {
  return static_cast<int>(call(number, arguments...));
}

inline int openat(int directory, const char* path, int flags, mode_t mode) {
  return static_cast<int>(call(SYS_openat, directory, path, flags, mode));
}
inline int close(int fd) {
  return static_cast<int>(call(SYS_close, fd));
}
inline int dup3(int from, int to, int flags) {
  return static_cast<int>(call(SYS_dup3, from, to, flags));
}
inline int fstat(int fd, struct ::stat* st) {
  return static_cast<int>(call(SYS_fstat, fd, st));
}
inline int fstatat(int directory, const char* path, struct ::stat* st, int flags) {
  return static_cast<int>(call(SYS_newfstatat, directory, path, st, flags));
}
inline int statx(int directory, const char* path, int flags, unsigned mask,
                 struct ::statx* out) {
  return static_cast<int>(call(SYS_statx, directory, path, flags, mask, out));
}
// Type, mode and device only, as far as the kernel knows them: no file server is asked.
inline int known_fstat(int fd, struct ::stat* st) {
  struct ::statx known;
  if (raw_call(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE,
               &known) != 0) {
    return raw::fstat(fd, st);
  }
  st->st_mode = known.stx_mode;
  st->st_dev = makedev(known.stx_dev_major, known.stx_dev_minor);
  return 0;
}
inline int faccessat(int directory, const char* path, int mode, int flags) {
  return flags == 0 ? static_cast<int>(call(SYS_faccessat, directory, path, mode))
                    : static_cast<int>(call(SYS_faccessat2, directory, path, mode, flags));
}
inline int unlinkat(int directory, const char* path, int flags) {
  return static_cast<int>(call(SYS_unlinkat, directory, path, flags));
}
inline int renameat2(int from, const char* old_path, int to, const char* new_path,
                     unsigned flags) {
  return static_cast<int>(call(SYS_renameat2, from, old_path, to, new_path, flags));
}
inline int execveat(int directory, const char* path, char* const argv[], char* const envp[],
                    int flags) {
  return static_cast<int>(call(SYS_execveat, directory, path, argv, envp, flags));
}
inline ssize_t readlinkat(int directory, const char* path, char* out, std::size_t capacity) {
  return call(SYS_readlinkat, directory, path, out, capacity);
}
inline ssize_t read(int fd, void* bytes, std::size_t size) {
  return call(SYS_read, fd, bytes, size);
}
inline ssize_t write(int fd, const void* bytes, std::size_t size) {
  return call(SYS_write, fd, bytes, size);
}

using zazen::FdLink;

}  // namespace zazen::raw
