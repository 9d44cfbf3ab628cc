/* Files by way of syscall(), and a few calls that have nothing to do with files: six arguments,
   errors, a child with a stack of its own. */
#include <linux/futex.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "check.h"

static void show(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result == -1 ? strerrorname_np(errno) : "");
  errno = 0;
}

static void show_stat(const char* what, long result, const struct stat* st) {
  if (result != 0) {
    show(what, result);
    return;
  }
  printf("%s: dev %lx ino %ld size %ld mode %o uid %u mtime %ld ctime %ld.%09ld\n", what,
         (long)st->st_dev, (long)st->st_ino, (long)st->st_size, st->st_mode, st->st_uid,
         (long)st->st_mtime, (long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static long open_how(int dirfd, const char* path, uint64_t flags, uint64_t mode,
                     uint64_t resolve) {
  struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
  return syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

static void opens(const char* dir, const char* f3, int dirfd) {
  errno = ENOTTY;
  long fd = syscall(SYS_open, f3, O_RDONLY);
  printf("errno after success %s\n", strerrorname_np(errno));
  show_fd("open", (int)fd);
  show_fd("openat", (int)syscall(SYS_openat, dirfd, "f3", O_RDONLY | O_CLOEXEC));
  show_fd("openat missing", (int)syscall(SYS_openat, dirfd, "f999", O_RDONLY));
  show_fd("open null", (int)syscall(SYS_open, NULL, O_RDONLY));
  show_fd("open no frame", (int)syscall(SYS_open, join(dir, "notes.txt"), O_RDONLY));
  show_fd("openat2", (int)open_how(dirfd, "f3", O_RDONLY, 0, 0));
  show_fd("openat2 cloexec", (int)open_how(AT_FDCWD, f3, O_RDONLY | O_CLOEXEC, 0, 0));
  show_fd("openat2 beneath", (int)open_how(dirfd, "f3", O_RDONLY, 0, RESOLVE_BENEATH));
  show_fd("openat2 beneath, absolute", (int)open_how(dirfd, f3, O_RDONLY, 0, RESOLVE_BENEATH));
  show_fd("openat2 with a mode", (int)open_how(dirfd, "f3", O_RDONLY, 0600, 0));
  show_fd("openat2 odd flags", (int)open_how(dirfd, "f3", 1ULL << 40, 0, 0));
  show_fd("openat2 symlink", (int)open_how(dirfd, "f77", 0, 0, RESOLVE_NO_SYMLINKS));
  show_fd("openat2 directory", (int)open_how(dirfd, "f3", O_DIRECTORY, 0, 0));
  show("openat2 null", syscall(SYS_openat2, dirfd, "f3", NULL, sizeof(struct open_how)));
  struct open_how how = {0};
  show("openat2 short", syscall(SYS_openat2, dirfd, "f3", &how, 7));
}

static void stats(const char* dir, const char* f3, int dirfd) {
  struct stat st;
  memset(&st, 0, sizeof st);
  show_stat("stat", syscall(SYS_stat, f3, &st), &st);
  show_stat("lstat", syscall(SYS_lstat, f3, &st), &st);
  show_stat("lstat of a symlink", syscall(SYS_lstat, join(dir, "f77"), &st), &st);
  int fd = (int)syscall(SYS_open, f3, O_RDONLY);
  show_stat("fstat", syscall(SYS_fstat, fd, &st), &st);
  show_stat("newfstatat", syscall(SYS_newfstatat, dirfd, "f3", &st, 0), &st);
  show_stat("newfstatat by fd", syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH), &st);
  show_stat("newfstatat null", syscall(SYS_newfstatat, fd, NULL, &st, 0), &st);
  show_stat("fstat of nothing", syscall(SYS_fstat, -1, &st), &st);
  close(fd);
  struct statx x;
  memset(&x, 0, sizeof x);
  show("statx", syscall(SYS_statx, dirfd, "f3", 0, STATX_BASIC_STATS, &x));
  printf("  dev %u:%u ino %llu size %llu ctime %lld.%09u\n", x.stx_dev_major, x.stx_dev_minor,
         (unsigned long long)x.stx_ino, (unsigned long long)x.stx_size,
         (long long)x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec);
  show("statx of nothing", syscall(SYS_statx, 0, NULL, 0, STATX_BASIC_STATS, NULL));
  show("access", syscall(SYS_access, f3, R_OK));
  show("access missing", syscall(SYS_access, join(dir, "f999"), F_OK));
  show("faccessat", syscall(SYS_faccessat, dirfd, "f3", R_OK));
  show("faccessat odd mode", syscall(SYS_faccessat, dirfd, "f3", 0700));
  show("faccessat2", syscall(SYS_faccessat2, dirfd, "f3", R_OK, AT_EACCESS));
  show("faccessat2 odd flags", syscall(SYS_faccessat2, dirfd, "f3", R_OK, 0x40000000));
}

static void others(const char* dir, int dirfd) {
  char text[64];
  memset(text, 0, sizeof text);
  show("readlink", syscall(SYS_readlink, join(dir, "f77"), text, sizeof text));
  show("readlink into nothing", syscall(SYS_readlink, join(dir, "f77"), text, 0));
  show("readlinkat", syscall(SYS_readlinkat, dirfd, "f77", text, 1));
  show("readlinkat no link", syscall(SYS_readlinkat, dirfd, "f3", text, sizeof text));
  printf("  %s\n", text);
  show("getxattr", syscall(SYS_getxattr, join(dir, "f3"), "user.zazen", text, sizeof text));
  show("listxattr", syscall(SYS_listxattr, join(dir, "f3"), text, sizeof text));
  int fd = (int)syscall(SYS_openat, dirfd, "f3", O_RDONLY);
  show("statfs", syscall(SYS_statfs, "/none/f3", text));
  show("fchmod nothing", syscall(SYS_fchmod, -1, 0600));
  show("utimensat nothing", syscall(SYS_utimensat, -1, NULL, NULL, 0));
  show("fchownat nothing", syscall(SYS_fchownat, dirfd, "f999", -1, -1, 0));
  show("execve nothing", syscall(SYS_execve, "/none", NULL, NULL));
  show("execveat nothing", syscall(SYS_execveat, dirfd, "none", NULL, NULL, 0));
  close(fd);
}

/* The names in the directory, and whether their numbers are the files'. */
static void list(const char* dir, const char* what, long number, long name_at) {
  _Alignas(8) char buffer[300];
  int fd = (int)syscall(SYS_open, dir, O_RDONLY | O_DIRECTORY);
  long got, names = 0, right = 0;
  while ((got = syscall(number, fd, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < got;) {
      uint64_t ino;
      unsigned short length;
      memcpy(&ino, buffer + at, sizeof ino);
      memcpy(&length, buffer + at + 16, sizeof length);
      const char* name = buffer + at + name_at;
      struct stat st;
      right +=
          syscall(SYS_newfstatat, fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == ino;
      ++names;
      at += length;
    }
  }
  printf("%s: %ld names, %ld right, then %ld\n", what, names, right, got);
  show("too small", syscall(number, fd, buffer, 1));
  close(fd);
  show("of nothing", syscall(number, -1, buffer, sizeof buffer));
}

static void lists(const char* dir) {
  list(dir, "getdents64", SYS_getdents64, 19);
  list(dir, "getdents", SYS_getdents, 18);
}

static void* cancelled(void* path) {
  pthread_cancel(pthread_self());
  long fd = syscall(SYS_openat, AT_FDCWD, (const char*)path, O_RDONLY);
  printf("openat with a cancellation pending: %d\n", fd >= 0);
  close((int)fd); /* a cancellation point */
  return NULL;
}

static void unrelated(const char* f3) {
  int word = 1;
  struct timespec soon = {0, 1000};
  show("futex", syscall(SYS_futex, &word, FUTEX_WAIT, 2, &soon, NULL, 0));
  show("futex bitset",
       syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, &soon, NULL, FUTEX_BITSET_MATCH_ANY));
  show("futex no bitset", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, &soon, NULL, 0));
  int fd = open(f3, O_RDONLY);
  char* page = (char*)syscall(SYS_mmap, NULL, 4096UL, PROT_READ, MAP_PRIVATE, fd, 0UL);
  char* far = (char*)syscall(SYS_mmap, NULL, 4096UL, PROT_READ, MAP_PRIVATE, fd, 1UL);
  char byte;
  pread(fd, &byte, 1, 0);
  printf("mmap %d, at an odd offset %s\n", page != MAP_FAILED && *page == byte,
         far == MAP_FAILED ? strerrorname_np(errno) : "");
  close(fd);
  show("no such call", syscall(100000));
  show("negative", syscall(-5));
  show("getppid", syscall(SYS_getppid) == getppid());
  pid_t child = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, 0UL);
  if (child == 0) _exit(17);
  int status = 0;
  waitpid(child, &status, 0);
  printf("clone: %d\n", WEXITSTATUS(status));
  pthread_t thread;
  pthread_create(&thread, NULL, cancelled, (void*)(intptr_t)f3);
  void* end;
  pthread_join(thread, &end);
  printf("cancelled afterwards: %d\n", end == PTHREAD_CANCELED);
}

int main(int argc, char** argv, char** environment) {
  if (argc == 3) { /* the child of the exec below */
    show_fd(argv[2], (int)syscall(SYS_open, argv[1], O_RDONLY));
    return 0;
  }
  if (argc != 2) return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  const char* dir = argv[1];
  char f3[4096];
  snprintf(f3, sizeof f3, "%s/f3", dir);
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  opens(dir, f3, dirfd);
  stats(dir, f3, dirfd);
  others(dir, dirfd);
  lists(dir);
  unrelated(f3);

  /* A vfork child that opens and execs; the parent's thread works as before. */
  char* args[] = {argv[0], f3, "after vfork and exec", NULL};
  pid_t child = vfork();
  if (child == 0) {
    if (syscall(SYS_open, f3, O_RDONLY) < 0) _exit(98);
    syscall(SYS_execve, "/proc/self/exe", args, environment);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  show_fd("parent", (int)syscall(SYS_open, f3, O_RDONLY));
  return 0;
}
