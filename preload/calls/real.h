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
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"

// Exported by libc and not declared in its headers.
extern "C" {
int __open(const char*, int, ...);
int __open64(const char*, int, ...);
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
FILE* _IO_fopen(const char*, const char*);
int __xstat(int, const char*, struct ::stat*);
int __xstat64(int, const char*, struct ::stat64*);
int __lxstat(int, const char*, struct ::stat*);
int __lxstat64(int, const char*, struct ::stat64*);
int __fxstat(int, int, struct ::stat*);
int __fxstat64(int, int, struct ::stat64*);
int __fxstatat(int, int, const char*, struct ::stat*, int);
int __fxstatat64(int, int, const char*, struct ::stat64*, int);
ssize_t __readlink_chk(const char*, char*, size_t, size_t);
ssize_t __readlinkat_chk(int, const char*, char*, size_t, size_t);
char* __realpath_chk(const char*, char*, size_t);
}

// clang-format off
#define ZAZEN_REAL_FUNCTIONS(X) \
  X(open) X(open64) X(__open) X(__open64) X(openat) X(openat64) X(creat) X(creat64) \
  X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) \
  X(fopen) X(fopen64) X(_IO_fopen) X(freopen) X(freopen64) \
  X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64) X(fstatat) X(fstatat64) \
  X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64) X(__fxstat) X(__fxstat64) \
  X(__fxstatat) X(__fxstatat64) X(statx) \
  X(access) X(faccessat) X(eaccess) X(euidaccess) \
  X(opendir) X(fdopendir) X(readdir) X(readdir64) X(readdir_r) X(readdir64_r) \
  X(closedir) X(rewinddir) X(seekdir) X(telldir) \
  X(scandir) X(scandir64) X(scandirat) X(scandirat64) \
  X(getdents64) X(getdirentries) X(getdirentries64) X(glob) X(glob64) \
  X(ftw) X(ftw64) X(nftw) X(nftw64) \
  X(fts_open) X(fts_read) X(fts_children) X(fts_set) X(fts_close) \
  X(fts64_open) X(fts64_read) X(fts64_children) X(fts64_set) X(fts64_close) \
  X(unlink) X(unlinkat) X(remove) X(rename) X(renameat) X(renameat2) \
  X(truncate) X(truncate64) X(syscall) \
  X(chmod) X(fchmodat) X(lchmod) X(fchmod) X(chown) X(lchown) X(fchownat) X(fchown) \
  X(utime) X(utimes) X(lutimes) X(futimes) X(futimesat) X(utimensat) X(futimens) \
  X(getxattr) X(fgetxattr) X(listxattr) X(flistxattr) \
  X(setxattr) X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr) \
  X(ioctl) X(lseek) X(lseek64) X(statfs) X(statfs64) X(fstatfs) X(fstatfs64) \
  X(statvfs) X(statvfs64) X(fstatvfs) X(fstatvfs64) \
  X(link) X(linkat) X(symlink) X(symlinkat) X(mkdir) X(mkdirat) X(mknod) X(mknodat) \
  X(mkfifo) X(mkfifoat) X(rmdir) X(readlink) X(readlinkat) X(__readlink_chk) \
  X(__readlinkat_chk) X(realpath) X(__realpath_chk) X(canonicalize_file_name) \
  X(execve) X(execvpe) X(fexecve) X(execveat) X(_exit) X(_Exit) X(quick_exit) \
  X(posix_spawn_file_actions_addopen) X(posix_spawn_file_actions_addclosefrom_np) \
  X(posix_spawn) X(posix_spawnp)
// clang-format on

namespace zazen::real {

// The types are those of the headers, without their attributes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct Functions {
#define X(name) Pointer<decltype(::name)> name;
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
};
#pragma GCC diagnostic pop
extern Functions next;

// Finds the libraries to search, in the constructor.
void prepare();

// To be called after prepare(): the hook of syscall() (hooks/syscall_hook.cc) forwards to the
// next definition of that name. Until then it is the instruction itself.
void prepare_syscall_hook();

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

// The real function, or the system call that has its name and its arguments.
#define ZAZEN_CALL(name, ...) \
  ZAZEN_FORWARD(              \
      name, (__VA_ARGS__),    \
      static_cast<decltype(::name(__VA_ARGS__))>(::zazen::raw::call(SYS_##name, __VA_ARGS__)))
