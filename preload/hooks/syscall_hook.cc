// syscall(): the system calls that name files, or that show a descriptor's file, go to the
// hooks of the same meaning; all others go to libc. Some programs call the kernel in this way:
// Rust's standard library, runtimes with wrappers of their own. They see the same as other
// programs.
//
// The entry is written in assembly. It does not know how many arguments there are, so a sixth
// one must stay in place on the caller's stack. That stack slot may also hold a variable that
// another thread is changing, and compiled code would write to it. All other numbers, futex
// among them, leave by a jump; clone needs the stack unchanged.
//
// A preloaded library may implement `open` by syscall(). If it comes before us, nothing here
// may call it: our calls bind within the library (-Bsymbolic-functions). If it comes after us,
// our hook of open calls it; its own syscall() then goes to libc directly.
#include <dirent.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <utime.h>

#include <utility>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/open_frame.h"
#include "preload/listings/directory_stream.h"
#include "preload/process/settings.h"

namespace raw = zazen::raw;

extern "C" {
long zazen_raw_syscall(long number, ...);
extern decltype(&zazen_raw_syscall) zazen_next_syscall;
}

namespace {

using zazen::read_old_entries;

constexpr long kFchmodat2 = 452;

struct Arguments {
  long at[5];

  template <class T>
  T as(std::size_t i) const {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(at[i]);
    } else {
      return static_cast<T>(at[i]);
    }
  }
};

template <class Result, class... Types, std::size_t... I>
long call(Result (*hook)(Types...), const Arguments& arguments, std::index_sequence<I...>) {
  return hook(arguments.as<Types>(I)...);
}

template <class Result, class... Types>
long call(Result (*hook)(Types...), const Arguments& arguments) {
  return call(hook, arguments, std::index_sequence_for<Types...>());
}

// Whether a hook runs on this thread for syscall(), and in which stack frame. A call that is
// not deeper in the stack comes after the hook, even if a jump left the hook. The process is
// stored, too: a vfork child that calls exec never clears this state, which is also its
// parent's.
class Inside {
 public:
  explicit Inside(int process) {
    pid = process;
    frame = here();
  }
  ~Inside() { pid = 0; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is(int process) { return pid == process && here() < frame; }

 private:
  [[gnu::always_inline]] static std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }
  static constinit thread_local int pid __attribute__((tls_model("initial-exec")));
  static constinit thread_local std::uintptr_t frame __attribute__((tls_model("initial-exec")));
};
constinit thread_local int Inside::pid = 0;
constinit thread_local std::uintptr_t Inside::frame = 0;

// As the hook of openat, except for the real call. libc's openat is a cancellation point. This
// call is not, and a signal handler may leave it by a jump while it blocks.
int open_at(int dirfd, const char* path, int flags, mode_t mode) {
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return static_cast<int>(zazen_next_syscall(SYS_openat, dirfd, name, flags, mode));
  });
}

int open_path(const char* path, int flags, mode_t mode) {
  return open_at(AT_FDCWD, path, flags, mode);
}

int create(const char* path, mode_t mode) {
  return open_path(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int access_at(int dirfd, const char* path, int mode) {  // this one has no flags
  return ::faccessat(dirfd, path, mode, 0);
}

int chmod_at(int dirfd, const char* path, mode_t mode) {  // nor has this one
  return ::fchmodat(dirfd, path, mode, 0);
}

int chmod_at2(int dirfd, const char* path, mode_t mode, int flags) {  // newer than libc
  return zazen::change_at(dirfd, path, flags, [&](int directory, const char* name) {
    return raw::status(kFchmodat2, directory, name, mode, flags);
  });
}

// futimens uses this system call; libc's own utimensat refuses a null path.
int set_times_at(int dirfd, const char* path, const struct timespec* times, int flags) {
  if (path != nullptr) return ::utimensat(dirfd, path, times, flags);
  if (flags == 0) return ::futimens(dirfd, times);
  return static_cast<int>(raw::call(SYS_utimensat, dirfd, path, times, flags));
}

int control(int fd, unsigned long request, void* argument) {
  return ::ioctl(fd, request, argument);
}

// The kernel's size is an int and must be positive.
ssize_t read_link_at(int dirfd, const char* path, char* out, int size) {
  if (size <= 0) return raw::call(SYS_readlinkat, dirfd, path, out, size);
  return ::readlinkat(dirfd, path, out, static_cast<std::size_t>(size));
}

ssize_t read_link(const char* path, char* out, int size) {
  return read_link_at(AT_FDCWD, path, out, size);
}

// Newer kernels accept a null path, libc does not.
int stat_at(int dirfd, const char* path, struct stat* st, int flags) {
  if (path == nullptr) return raw::fstatat(dirfd, path, st, flags);
  return ::fstatat(dirfd, path, st, flags);
}

// openat would accept it: openat checks flags and modes less strictly and has no `resolve`.
bool is_plain(const struct open_how& how) {
  constexpr std::uint64_t kKnownFlags = O_ACCMODE | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW |
                                        O_NONBLOCK | O_NOATIME | O_DIRECT | O_CREAT | O_EXCL |
                                        O_TRUNC | O_APPEND | O_SYNC;
  constexpr std::uint64_t kModes = 07777;
  std::uint64_t modes = (how.flags & O_CREAT) != 0 ? kModes : 0;
  return how.resolve == 0 && (how.flags & ~kKnownFlags) == 0 && (how.mode & ~modes) == 0;
}

// Other forms go to the origin: the kernel may refuse something that the copy's path would
// allow.
int open_at2(int dirfd, const char* path, const struct open_how* how, std::size_t size) {
  auto forward = [&] {
    return static_cast<int>(raw::call(SYS_openat2, dirfd, path, how, size));
  };
  if (how == nullptr || size != sizeof *how) return forward();
  int flags = static_cast<int>(how->flags);
  if (is_plain(*how)) return open_at(dirfd, path, flags, static_cast<mode_t>(how->mode));
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) return zazen::drop_if_written(route, flags, forward());
  zazen::Change change(route, flags);
  int fd = zazen::drop_if_written(route, flags, change.done(forward()));
  return zazen::origin_opened(route, flags, fd);
}

// None of them has a sixth argument.
#define ZAZEN_FILE_CALLS(X)           \
  X(SYS_open, open_path)              \
  X(SYS_openat, open_at)              \
  X(SYS_openat2, open_at2)            \
  X(SYS_creat, create)                \
  X(SYS_stat, ::stat)                 \
  X(SYS_lstat, ::lstat)               \
  X(SYS_fstat, ::fstat)               \
  X(SYS_newfstatat, stat_at)          \
  X(SYS_statx, ::statx)               \
  X(SYS_access, ::access)             \
  X(SYS_faccessat, access_at)         \
  X(SYS_faccessat2, ::faccessat)      \
  X(SYS_unlink, ::unlink)             \
  X(SYS_unlinkat, ::unlinkat)         \
  X(SYS_rename, ::rename)             \
  X(SYS_renameat, ::renameat)         \
  X(SYS_renameat2, ::renameat2)       \
  X(SYS_truncate, ::truncate)         \
  X(SYS_chmod, ::chmod)               \
  X(SYS_fchmod, ::fchmod)             \
  X(SYS_fchmodat, chmod_at)           \
  X(kFchmodat2, chmod_at2)            \
  X(SYS_chown, ::chown)               \
  X(SYS_lchown, ::lchown)             \
  X(SYS_fchown, ::fchown)             \
  X(SYS_fchownat, ::fchownat)         \
  X(SYS_utime, ::utime)               \
  X(SYS_utimes, ::utimes)             \
  X(SYS_futimesat, ::futimesat)       \
  X(SYS_utimensat, set_times_at)      \
  X(SYS_getxattr, ::getxattr)         \
  X(SYS_fgetxattr, ::fgetxattr)       \
  X(SYS_listxattr, ::listxattr)       \
  X(SYS_flistxattr, ::flistxattr)     \
  X(SYS_setxattr, ::setxattr)         \
  X(SYS_lsetxattr, ::lsetxattr)       \
  X(SYS_fsetxattr, ::fsetxattr)       \
  X(SYS_removexattr, ::removexattr)   \
  X(SYS_lremovexattr, ::lremovexattr) \
  X(SYS_fremovexattr, ::fremovexattr) \
  X(SYS_ioctl, control)               \
  X(SYS_link, ::link)                 \
  X(SYS_linkat, ::linkat)             \
  X(SYS_symlink, ::symlink)           \
  X(SYS_symlinkat, ::symlinkat)       \
  X(SYS_mkdir, ::mkdir)               \
  X(SYS_mkdirat, ::mkdirat)           \
  X(SYS_mknod, ::mknod)               \
  X(SYS_mknodat, ::mknodat)           \
  X(SYS_rmdir, ::rmdir)               \
  X(SYS_readlink, read_link)          \
  X(SYS_readlinkat, read_link_at)     \
  X(SYS_statfs, ::statfs)             \
  X(SYS_fstatfs, ::fstatfs)           \
  X(SYS_getdents64, ::getdents64)     \
  X(SYS_getdents, read_old_entries)   \
  X(SYS_execve, ::execve)             \
  X(SYS_execveat, ::execveat)

constexpr std::size_t kNumbers = 512;

struct FileCalls {
  bool is_one[kNumbers] = {};
  constexpr FileCalls() {
#define X(number, hook) is_one[number] = true;
    ZAZEN_FILE_CALLS(X)
#undef X
  }
};

}  // namespace

extern "C" {
extern const FileCalls zazen_file_calls;
constinit const FileCalls zazen_file_calls;
constinit decltype(&zazen_raw_syscall) zazen_next_syscall = zazen_raw_syscall;

long zazen_syscall_failed(long result) {
  errno = static_cast<int>(-result);
  return -1;
}

long zazen_file_call(long number, long a, long b, long c, long d, long e) {
  const Arguments arguments{{a, b, c, d, e}};
  if (!zazen::settings.active) return zazen_next_syscall(number, a, b, c, d, e);
  int pid = static_cast<int>(raw::call(SYS_getpid));
  if (Inside::is(pid)) return zazen_next_syscall(number, a, b, c, d, e);
  Inside inside(pid);
  switch (number) {
#define X(number, hook) \
  case number:          \
    return call(hook, arguments);
    ZAZEN_FILE_CALLS(X)
#undef X
  }
  return zazen_next_syscall(number, a, b, c, d, e);
}
}

#ifndef __x86_64__
#error "this machine's entry belongs here"
#endif
__asm__(R"(
    .pushsection .text
    .globl  syscall
    .type   syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmpq    $512, %rdi
    jae     1f
    leaq    zazen_file_calls(%rip), %r11
    cmpb    $0, (%r11,%rdi)
    jne     zazen_file_call
1:  jmpq    *zazen_next_syscall(%rip)
    .cfi_endproc
    .size   syscall, .-syscall

    .globl  zazen_raw_syscall
    .hidden zazen_raw_syscall
    .type   zazen_raw_syscall, @function
zazen_raw_syscall:
    .cfi_startproc
    endbr64
    movq    %rdi, %rax
    movq    %rsi, %rdi
    movq    %rdx, %rsi
    movq    %rcx, %rdx
    movq    %r8, %r10
    movq    %r9, %r8
    movq    8(%rsp), %r9
    syscall
    cmpq    $-4095, %rax
    movq    %rax, %rdi
    jae     zazen_syscall_failed
    ret
    .cfi_endproc
    .size   zazen_raw_syscall, .-zazen_raw_syscall
    .popsection
)");
static_assert(kNumbers == 512);

namespace zazen::real {

void prepare_syscall_hook() {
  if (auto* syscall = known(next.syscall)) zazen_next_syscall = syscall;
}

}  // namespace zazen::real
