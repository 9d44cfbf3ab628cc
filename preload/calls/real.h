// The functions that the hooks forward to: the next definition of the same name, in libc or in
// a library that is preloaded after us. Each is looked up when it is first needed. This does
// not use dlsym (loaded_library.h), so a hook may do it while an allocator holds its lock.
//
// A hook may run before our constructor, from another library's constructor, and a name may be
// missing. Then a raw system call replaces the function. Streams, directories, spawning,
// realpath and statvfs have no such system call. An allocator does not call these, so an early
// search for them is safe.
#pragma once
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "preload/calls/forward.h"
#include "preload/calls/raw.h"

#define ZAZEN_REAL_FUNCTIONS(X)                                                          \
  X(open, int(const char*, int, ...))                                                    \
  X(open64, int(const char*, int, ...))                                                  \
  X(__open, int(const char*, int, ...))                                                  \
  X(__open64, int(const char*, int, ...))                                                \
  X(openat, int(int, const char*, int, ...))                                             \
  X(openat64, int(int, const char*, int, ...))                                           \
  X(creat, int(const char*, mode_t))                                                     \
  X(creat64, int(const char*, mode_t))                                                   \
  X(__open_2, int(const char*, int))                                                     \
  X(__open64_2, int(const char*, int))                                                   \
  X(__openat_2, int(int, const char*, int))                                              \
  X(__openat64_2, int(int, const char*, int))                                            \
  X(fopen, FILE*(const char*, const char*))                                              \
  X(fopen64, FILE*(const char*, const char*))                                            \
  X(_IO_fopen, FILE*(const char*, const char*))                                          \
  X(freopen, FILE*(const char*, const char*, FILE*))                                     \
  X(freopen64, FILE*(const char*, const char*, FILE*))                                   \
  X(stat, int(const char*, struct ::stat*))                                              \
  X(stat64, int(const char*, struct ::stat64*))                                          \
  X(lstat, int(const char*, struct ::stat*))                                             \
  X(lstat64, int(const char*, struct ::stat64*))                                         \
  X(fstat, int(int, struct ::stat*))                                                     \
  X(fstat64, int(int, struct ::stat64*))                                                 \
  X(fstatat, int(int, const char*, struct ::stat*, int))                                 \
  X(fstatat64, int(int, const char*, struct ::stat64*, int))                             \
  X(__xstat, int(int, const char*, struct ::stat*))                                      \
  X(__xstat64, int(int, const char*, struct ::stat64*))                                  \
  X(__lxstat, int(int, const char*, struct ::stat*))                                     \
  X(__lxstat64, int(int, const char*, struct ::stat64*))                                 \
  X(__fxstat, int(int, int, struct ::stat*))                                             \
  X(__fxstat64, int(int, int, struct ::stat64*))                                         \
  X(__fxstatat, int(int, int, const char*, struct ::stat*, int))                         \
  X(__fxstatat64, int(int, int, const char*, struct ::stat64*, int))                     \
  X(statx, int(int, const char*, int, unsigned, struct ::statx*))                        \
  X(access, int(const char*, int))                                                       \
  X(faccessat, int(int, const char*, int, int))                                          \
  X(eaccess, int(const char*, int))                                                      \
  X(euidaccess, int(const char*, int))                                                   \
  X(opendir, DIR*(const char*))                                                          \
  X(fdopendir, DIR*(int))                                                                \
  X(readdir, struct ::dirent*(DIR*))                                                     \
  X(readdir64, struct ::dirent64*(DIR*))                                                 \
  X(readdir_r, int(DIR*, struct ::dirent*, struct ::dirent**))                           \
  X(readdir64_r, int(DIR*, struct ::dirent64*, struct ::dirent64**))                     \
  X(closedir, int(DIR*))                                                                 \
  X(rewinddir, void(DIR*))                                                               \
  X(seekdir, void(DIR*, long))                                                           \
  X(telldir, long(DIR*))                                                                 \
  X(scandir, int(const char*, struct ::dirent***, int (*)(const struct ::dirent*),       \
                 int (*)(const struct ::dirent**, const struct ::dirent**)))             \
  X(scandir64, int(const char*, struct ::dirent64***, int (*)(const struct ::dirent64*), \
                   int (*)(const struct ::dirent64**, const struct ::dirent64**)))       \
  X(scandirat, ScanAt<struct ::dirent>)                                                  \
  X(scandirat64, ScanAt<struct ::dirent64>)                                              \
  X(getdents64, ssize_t(int, void*, size_t))                                             \
  X(getdirentries, ssize_t(int, char*, size_t, off_t*))                                  \
  X(getdirentries64, ssize_t(int, char*, size_t, off64_t*))                              \
  X(glob, int(const char*, int, int (*)(const char*, int), ::glob_t*))                   \
  X(glob64, int(const char*, int, int (*)(const char*, int), ::glob64_t*))               \
  X(ftw, int(const char*, ::__ftw_func_t, int))                                          \
  X(ftw64, int(const char*, ::__ftw64_func_t, int))                                      \
  X(nftw, int(const char*, ::__nftw_func_t, int, int))                                   \
  X(nftw64, int(const char*, ::__nftw64_func_t, int, int))                               \
  X(fts_open, FTS*(char* const*, int, int (*)(const FTSENT**, const FTSENT**)))          \
  X(fts_read, FTSENT*(FTS*))                                                             \
  X(fts_children, FTSENT*(FTS*, int))                                                    \
  X(fts_set, int(FTS*, FTSENT*, int))                                                    \
  X(fts_close, int(FTS*))                                                                \
  X(fts64_open, FTS64*(char* const*, int, int (*)(const FTSENT64**, const FTSENT64**)))  \
  X(fts64_read, FTSENT64*(FTS64*))                                                       \
  X(fts64_children, FTSENT64*(FTS64*, int))                                              \
  X(fts64_set, int(FTS64*, FTSENT64*, int))                                              \
  X(fts64_close, int(FTS64*))                                                            \
  X(unlink, int(const char*))                                                            \
  X(unlinkat, int(int, const char*, int))                                                \
  X(remove, int(const char*))                                                            \
  X(rename, int(const char*, const char*))                                               \
  X(renameat, int(int, const char*, int, const char*))                                   \
  X(renameat2, int(int, const char*, int, const char*, unsigned))                        \
  X(truncate, int(const char*, off_t))                                                   \
  X(truncate64, int(const char*, off_t))                                                 \
  X(syscall, long(long, ...))                                                            \
  X(chmod, int(const char*, mode_t))                                                     \
  X(fchmodat, int(int, const char*, mode_t, int))                                        \
  X(lchmod, int(const char*, mode_t))                                                    \
  X(fchmod, int(int, mode_t))                                                            \
  X(chown, int(const char*, uid_t, gid_t))                                               \
  X(lchown, int(const char*, uid_t, gid_t))                                              \
  X(fchownat, int(int, const char*, uid_t, gid_t, int))                                  \
  X(fchown, int(int, uid_t, gid_t))                                                      \
  X(utime, int(const char*, const struct ::utimbuf*))                                    \
  X(utimes, int(const char*, const struct ::timeval*))                                   \
  X(lutimes, int(const char*, const struct ::timeval*))                                  \
  X(futimes, int(int, const struct ::timeval*))                                          \
  X(futimesat, int(int, const char*, const struct ::timeval*))                           \
  X(utimensat, int(int, const char*, const struct ::timespec*, int))                     \
  X(futimens, int(int, const struct ::timespec*))                                        \
  X(getxattr, ssize_t(const char*, const char*, void*, size_t))                          \
  X(fgetxattr, ssize_t(int, const char*, void*, size_t))                                 \
  X(listxattr, ssize_t(const char*, char*, size_t))                                      \
  X(flistxattr, ssize_t(int, char*, size_t))                                             \
  X(setxattr, int(const char*, const char*, const void*, size_t, int))                   \
  X(lsetxattr, int(const char*, const char*, const void*, size_t, int))                  \
  X(fsetxattr, int(int, const char*, const void*, size_t, int))                          \
  X(removexattr, int(const char*, const char*))                                          \
  X(lremovexattr, int(const char*, const char*))                                         \
  X(fremovexattr, int(int, const char*))                                                 \
  X(ioctl, int(int, unsigned long, ...))                                                 \
  X(statfs, int(const char*, struct ::statfs*))                                          \
  X(statfs64, int(const char*, struct ::statfs64*))                                      \
  X(fstatfs, int(int, struct ::statfs*))                                                 \
  X(fstatfs64, int(int, struct ::statfs64*))                                             \
  X(statvfs, int(const char*, struct ::statvfs*))                                        \
  X(statvfs64, int(const char*, struct ::statvfs64*))                                    \
  X(fstatvfs, int(int, struct ::statvfs*))                                               \
  X(fstatvfs64, int(int, struct ::statvfs64*))                                           \
  X(link, int(const char*, const char*))                                                 \
  X(linkat, int(int, const char*, int, const char*, int))                                \
  X(symlink, int(const char*, const char*))                                              \
  X(symlinkat, int(const char*, int, const char*))                                       \
  X(mkdir, int(const char*, mode_t))                                                     \
  X(mkdirat, int(int, const char*, mode_t))                                              \
  X(mknod, int(const char*, mode_t, dev_t))                                              \
  X(mknodat, int(int, const char*, mode_t, dev_t))                                       \
  X(mkfifo, int(const char*, mode_t))                                                    \
  X(mkfifoat, int(int, const char*, mode_t))                                             \
  X(rmdir, int(const char*))                                                             \
  X(readlink, ssize_t(const char*, char*, size_t))                                       \
  X(readlinkat, ssize_t(int, const char*, char*, size_t))                                \
  X(__readlink_chk, ssize_t(const char*, char*, size_t, size_t))                         \
  X(__readlinkat_chk, ssize_t(int, const char*, char*, size_t, size_t))                  \
  X(realpath, char*(const char*, char*))                                                 \
  X(__realpath_chk, char*(const char*, char*, size_t))                                   \
  X(canonicalize_file_name, char*(const char*))                                          \
  X(execve, int(const char*, char* const*, char* const*))                                \
  X(execvpe, int(const char*, char* const*, char* const*))                               \
  X(fexecve, int(int, char* const*, char* const*))                                       \
  X(execveat, int(int, const char*, char* const*, char* const*, int))                    \
  X(_exit, void(int))                                                                    \
  X(_Exit, void(int))                                                                    \
  X(quick_exit, void(int))                                                               \
  X(posix_spawn_file_actions_addopen,                                                    \
    int(posix_spawn_file_actions_t*, int, const char*, int, mode_t))                     \
  X(posix_spawn_file_actions_addclosefrom_np, int(posix_spawn_file_actions_t*, int))     \
  X(posix_spawn, int(pid_t*, const char*, const posix_spawn_file_actions_t*,             \
                     const posix_spawnattr_t*, char* const*, char* const*))              \
  X(posix_spawnp, int(pid_t*, const char*, const posix_spawn_file_actions_t*,            \
                      const posix_spawnattr_t*, char* const*, char* const*))

namespace zazen::real {

template <class Entry>
using ScanAt = int(int, const char*, Entry***, int (*)(const Entry*),
                   int (*)(const Entry**, const Entry**));

struct Functions {
#define X(name, ...) Pointer<__VA_ARGS__> name;
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
};
extern Functions next;

// Finds the libraries to search, in the constructor.
void prepare();

// This library in the loader's list; null if it was loaded into a separate namespace.
const link_map* own_map();

// A library after us changes the answers of stat, as fakeroot does. Its answers about a frame
// are for the origin's file, so it must be asked.
extern bool stat_is_foreign;

// The function at this index of the list; null before prepare(), and if no library has the
// name.
void* look_up(std::size_t index);

// Null: a raw system call must replace it.
template <class Type>
Type* known(Pointer<Type>& pointer) {
  if (pointer.get() == nullptr) [[unlikely]] {
    auto offset =
        reinterpret_cast<const char*>(&pointer) - reinterpret_cast<const char*>(&next);
    pointer.set(look_up(static_cast<std::size_t>(offset) / sizeof pointer));
  }
  return pointer.get();
}

// For functions that no system call can replace. Null only if libc lacks the name.
template <class Type>
Type* late(Pointer<Type>& pointer) {
  if (known(pointer) == nullptr) [[unlikely]]
    prepare();
  return known(pointer);
}

}  // namespace zazen::real

// The real function, or the system call that replaces it: ZAZEN_FORWARD(creat, (path, mode),
// raw::openat(...)).
#define ZAZEN_FORWARD(name, arguments, instead) \
  ZAZEN_CALL_OR(::zazen::real::known(::zazen::real::next.name), arguments, instead)
