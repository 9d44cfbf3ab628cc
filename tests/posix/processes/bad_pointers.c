/* Paths that are no strings: the kernel says EFAULT, and nobody looks at them before. Null, the
   first page, the end of the address space, addresses that no program has. */
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "check.h"

int __open_2(const char* path, int flags);

static const uintptr_t addresses[] = {0,
                                      1,
                                      4095,
                                      UINTPTR_MAX,
                                      UINTPTR_MAX - 4095,
                                      0x0000800000000000,
                                      0xffff800000000000,
                                      0x4141414141414141};

#define TRY(call)                                                                      \
  do {                                                                                 \
    errno = 0;                                                                         \
    long result = (long)(call);                                                        \
    printf("%s: %d %s\n", #call, result == -1 || result == 0, strerrorname_np(errno)); \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  struct stat st;
  struct statx x;
  struct statfs fs;
  struct statvfs vfs;
  char text[4096];
  const char* f3 = join(argv[1], "f3");
  int dirfd = open(argv[1], O_RDONLY | O_DIRECTORY), fd = open(f3, O_RDONLY);
  struct timespec times[2] = {{1, 0}, {1, 0}};
  struct timeval old[2] = {{1, 0}, {1, 0}};
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; ++i) {
    const char* volatile bad = (const char*)addresses[i];
    if (sanitized) break; /* they look at every path themselves */
    printf("%zu\n", i);
    TRY(open(bad, O_RDONLY));
    TRY(open(bad, O_RDWR | O_CREAT, 0600));
    TRY(open(bad, O_PATH));
    TRY(open64(bad, O_RDONLY));
    TRY(__open_2(bad, O_RDONLY));
    TRY(openat(dirfd, bad, O_RDONLY));
    TRY(openat(dirfd, bad, O_WRONLY | O_TRUNC));
    TRY(creat(bad, 0600));
    TRY(syscall(SYS_openat, dirfd, bad, O_RDONLY));
    TRY(syscall(SYS_open, bad, O_RDWR));
    TRY(stat(bad, &st));
    TRY(lstat(bad, &st));
    TRY(fstatat(dirfd, bad, &st, 0));
    TRY(fstatat(dirfd, bad, &st, AT_SYMLINK_NOFOLLOW));
    if (bad != NULL) TRY(fstatat(fd, bad, &st, AT_EMPTY_PATH));
    TRY(statx(dirfd, bad, 0, STATX_ALL, &x));
    if (bad != NULL) TRY(statx(fd, bad, AT_EMPTY_PATH, STATX_BASIC_STATS, &x));
    TRY(access(bad, R_OK));
    TRY(access(bad, W_OK));
    TRY(faccessat(dirfd, bad, R_OK, 0));
    if (bad != NULL) TRY(faccessat(dirfd, bad, R_OK, AT_EMPTY_PATH));
    TRY(readlink(bad, text, sizeof text));
    TRY(readlinkat(dirfd, bad, text, sizeof text));
    TRY(unlink(bad));
    TRY(unlinkat(dirfd, bad, 0));
    TRY(rename(bad, f3));
    TRY(rename(f3, bad));
    TRY(link(f3, bad));
    TRY(linkat(dirfd, bad, dirfd, "f200", 0));
    if (bad != NULL) TRY(linkat(fd, bad, dirfd, "f200", AT_EMPTY_PATH));
    TRY(symlink(f3, bad));
    TRY(mkdir(bad, 0700));
    TRY(rmdir(bad));
    TRY(mknod(bad, S_IFREG | 0600, 0));
    TRY(truncate(bad, 0));
    TRY(chmod(bad, 0600));
    TRY(fchmodat(dirfd, bad, 0600, 0));
    TRY(chown(bad, (uid_t)-1, (gid_t)-1));
    TRY(lchown(bad, (uid_t)-1, (gid_t)-1));
    if (bad != NULL) TRY(fchownat(fd, bad, (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH));
    if (bad != NULL) TRY(utimensat(dirfd, bad, times, 0));
    TRY(utimes(bad, old));
    TRY(utime(bad, NULL));
    TRY(getxattr(bad, "user.none", text, sizeof text));
    TRY(listxattr(bad, text, sizeof text));
    TRY(setxattr(bad, "user.none", text, 1, 0));
    TRY(removexattr(bad, "user.none"));
    TRY(statfs(bad, &fs));
    TRY(statvfs(bad, &vfs));
    TRY(fopen(bad, "r"));
    TRY(execve(bad, argv, argv + 1));
  }
  show_fd("and then", open(f3, O_RDONLY));
  return 0;
}
