/* errno after every hooked call that succeeds: its value before, as without the shim. The
   calls that change frames come last; the test makes a new dataset for each run. */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r is still called */

int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int dirfd, const char* path, int flags);
int __openat64_2(int dirfd, const char* path, int flags);

extern char** environ;

enum { kBefore = 4711 };

/* The call, whether it succeeded, and errno if it was touched. */
#define TRY(call, success)                                             \
  do {                                                                 \
    errno = kBefore;                                                   \
    __auto_type result = (call);                                       \
    int after = errno;                                                 \
    printf("%s: %s %s\n", #call, (result success) ? "done" : "FAILED", \
           after == kBefore ? "untouched" : strerrorname_np(after));   \
  } while (0)
#define TRY_FD(call)                                                 \
  do {                                                               \
    errno = kBefore;                                                 \
    int result = (call);                                             \
    int after = errno;                                               \
    printf("%s: %d %s\n", #call, result,                             \
           after == kBefore ? "untouched" : strerrorname_np(after)); \
    close(result);                                                   \
  } while (0)

static int visit(const char* path, const struct stat* st, int kind, struct FTW* where) {
  (void)path, (void)st, (void)kind, (void)where;
  return 0;
}

static int visit_old(const char* path, const struct stat* st, int kind) {
  (void)path, (void)st, (void)kind;
  return 0;
}

static void try_opens(const char* f3, int dirfd) {
  TRY_FD(open(f3, O_RDONLY));
  TRY_FD(open64(f3, O_RDONLY));
  TRY_FD(openat(dirfd, "f3", O_RDONLY));
  TRY_FD(openat64(dirfd, "f3", O_RDONLY | O_CLOEXEC));
  TRY_FD(__open_2(f3, O_RDONLY));
  TRY_FD(__open64_2(f3, O_RDONLY));
  TRY_FD(__openat_2(dirfd, "f3", O_RDONLY));
  TRY_FD(__openat64_2(dirfd, "f3", O_RDONLY));
  TRY_FD(open(f3, O_PATH));
  TRY_FD((int)syscall(SYS_openat, AT_FDCWD, f3, O_RDONLY));
  FILE* stream = NULL;
  TRY(stream = fopen(f3, "r"), != NULL);
  TRY(stream = freopen(f3, "r", stream), != NULL);
  TRY(stream = freopen64(f3, "r", stream), != NULL);
  TRY(fclose(stream), == 0);
  TRY(stream = fopen64(f3, "r"), != NULL);
  fclose(stream);
}

static void try_questions(const char* f3, int dirfd) {
  struct stat st;
  struct stat64 st64;
  struct statx x;
  struct statfs fs;
  struct statvfs vfs;
  char text[4096];
  int fd = open(f3, O_RDONLY);
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  TRY(stat(f3, &st), == 0);
  TRY(stat64(f3, &st64), == 0);
  TRY(lstat(f3, &st), == 0);
  TRY(lstat64(f3, &st64), == 0);
  TRY(fstat(fd, &st), == 0);
  TRY(fstat64(fd, &st64), == 0);
  TRY(fstatat(dirfd, "f3", &st, 0), == 0);
  TRY(fstatat64(dirfd, "f3", &st64, AT_SYMLINK_NOFOLLOW), == 0);
  TRY(fstatat(fd, "", &st, AT_EMPTY_PATH), == 0);
  TRY(statx(dirfd, "f3", 0, STATX_ALL, &x), == 0);
  TRY(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &x), == 0);
  TRY(syscall(SYS_statx, AT_FDCWD, f3, 0, STATX_ALL, &x), == 0);
  TRY(access(f3, R_OK), == 0);
  TRY(eaccess(f3, R_OK), == 0);
  TRY(euidaccess(f3, R_OK), == 0);
  TRY(faccessat(dirfd, "f3", R_OK, 0), == 0);
  TRY(readlink(link, text, sizeof text), > 0);
  TRY(readlinkat(dirfd, "f77", text, sizeof text), > 0);
  TRY(realpath(f3, text), != NULL);
  TRY(realpath(link, text), != NULL);
  char* real;
  TRY(real = canonicalize_file_name(f3), != NULL);
  free(real);
  TRY(listxattr(f3, text, sizeof text), >= 0);
  TRY(llistxattr(f3, text, sizeof text), >= 0);
  TRY(flistxattr(fd, text, sizeof text), >= 0);
  TRY(statfs(f3, &fs), == 0);
  TRY(fstatfs(fd, &fs), == 0);
  TRY(statvfs(f3, &vfs), == 0);
  TRY(fstatvfs(fd, &vfs), == 0);
  close(fd);
}

static void try_listings(const char* dir) {
  DIR* stream;
  struct dirent entry, *next;
  struct dirent64 entry64, *next64;
  TRY(stream = opendir(dir), != NULL);
  TRY(readdir(stream), != NULL);
  TRY(readdir64(stream), != NULL);
  TRY(readdir_r(stream, &entry, &next), == 0);
  TRY(readdir64_r(stream, &entry64, &next64), == 0);
  long at;
  TRY(at = telldir(stream), >= 0);
  TRY((seekdir(stream, at), 0), == 0);
  TRY((rewinddir(stream), 0), == 0);
  TRY(dirfd(stream), >= 0);
  while (readdir(stream) != NULL) continue;
  TRY(readdir(stream), == NULL);
  TRY(closedir(stream), == 0);
  int fd = open(dir, O_RDONLY | O_DIRECTORY);
  char buffer[4096];
  TRY(getdents64(fd, buffer, sizeof buffer), > 0);
  lseek(fd, 0, SEEK_SET);
  TRY(stream = fdopendir(fd), != NULL);
  closedir(stream);
  struct dirent** names;
  TRY(scandir(dir, &names, NULL, alphasort), > 0);
  TRY(scandirat(AT_FDCWD, dir, &names, NULL, alphasort), > 0);
  glob_t found;
  TRY(glob(join(dir, "f*"), 0, NULL, &found), == 0);
  TRY(nftw(dir, visit, 4, FTW_PHYS), == 0);
  TRY(ftw(dir, visit_old, 4), == 0);
  char* tops[] = {(char*)dir, NULL};
  FTS* walk;
  TRY(walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL), != NULL);
  TRY(fts_read(walk), != NULL);
  TRY(fts_read(walk), != NULL);
  TRY(fts_close(walk), == 0);
}

static void try_changes(const char* dir, int dirfd) {
  struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
  struct timeval old[2] = {{1000000000, 0}, {1000000000, 0}};
  TRY(chmod(join(dir, "f3"), 0600), == 0);
  TRY(fchmodat(dirfd, "f3", 0644, 0), == 0);
  TRY(chown(join(dir, "f3"), getuid(), getgid()), == 0);
  TRY(lchown(join(dir, "f3"), getuid(), getgid()), == 0);
  TRY(utimensat(dirfd, "f4", times, 0), == 0);
  TRY(utimes(join(dir, "f4"), old), == 0);
  TRY(link(join(dir, "f5"), join(dir, "f500")), == 0);
  TRY(linkat(dirfd, "f5", dirfd, "f501", 0), == 0);
  TRY(truncate(join(dir, "f6"), 10), == 0);
  TRY(truncate64(join(dir, "f7"), 10), == 0);
  TRY_FD(creat(join(dir, "f8"), 0644));
  TRY_FD(creat64(join(dir, "f8"), 0644));
  TRY_FD(open(join(dir, "f9"), O_WRONLY | O_TRUNC));
  TRY_FD(open(join(dir, "f10"), O_RDWR));
  TRY_FD(open(join(dir, "f100"), O_RDWR | O_CREAT | O_EXCL, 0644));
  TRY(rename(join(dir, "f11"), join(dir, "f12")), == 0);
  TRY(renameat(dirfd, "f13", dirfd, "f14"), == 0);
  TRY(renameat2(dirfd, "f15", dirfd, "f16", RENAME_EXCHANGE), == 0);
  TRY(unlink(join(dir, "f17")), == 0);
  TRY(unlinkat(dirfd, "f18", 0), == 0);
  TRY(remove(join(dir, "f19")), == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int dirfd = open(argv[1], O_RDONLY | O_DIRECTORY);
  const char* f3 = strdup(join(argv[1], "f3"));
  /* Twice: the first use of a dataset may take another way than the second. */
  for (int turn = 0; turn < 2; ++turn) {
    try_opens(f3, dirfd);
    try_questions(f3, dirfd);
    try_listings(argv[1]);
  }
  char* arguments[] = {"true", NULL};
  pid_t pid;
  TRY(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ), == 0);
  TRY(waitpid(pid, NULL, 0), == pid);
  try_changes(argv[1], dirfd);
  return 0;
}
