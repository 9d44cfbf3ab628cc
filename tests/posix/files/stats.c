/* The stat family: by path, by descriptor, in the child of an exec, old and new names. */
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "check.h"

int old_xstat(int, const char*, struct stat*);
int old_lxstat(int, const char*, struct stat*);
int old_fxstat(int, int, struct stat*);
int old_fxstatat(int, int, const char*, struct stat*, int);
int old_xstat64(int, const char*, struct stat64*);
int old_lxstat64(int, const char*, struct stat64*);
int old_fxstat64(int, int, struct stat64*);
int old_fxstatat64(int, int, const char*, struct stat64*, int);
__asm__(".symver old_xstat,__xstat@GLIBC_2.2.5");
__asm__(".symver old_lxstat,__lxstat@GLIBC_2.2.5");
__asm__(".symver old_fxstat,__fxstat@GLIBC_2.2.5");
__asm__(".symver old_fxstatat,__fxstatat@GLIBC_2.4");
__asm__(".symver old_xstat64,__xstat64@GLIBC_2.2.5");
__asm__(".symver old_lxstat64,__lxstat64@GLIBC_2.2.5");
__asm__(".symver old_fxstat64,__fxstat64@GLIBC_2.2.5");
__asm__(".symver old_fxstatat64,__fxstatat64@GLIBC_2.4");

static struct stat st;
static struct stat64* const st64 = (struct stat64*)&st;

static void show(const char* what, int result) {
  if (result != 0) {
    printf("%s: %d %s\n", what, result, strerrorname_np(errno));
  } else {
    printf(
        "%s: dev %lx ino %lu mode %o links %lu owner %u:%u size %ld m %ld.%09ld c %ld.%09ld\n",
        what, st.st_dev, st.st_ino, st.st_mode, st.st_nlink, st.st_uid, st.st_gid, st.st_size,
        st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
  }
  memset(&st, 0, sizeof st);
}

static void show_x(const char* what, int result, unsigned mask, const struct statx* x) {
  if (result != 0) {
    printf("%s: %d %s\n", what, result, strerrorname_np(errno));
    return;
  }
  printf(
      "%s: has %d dev %u:%u ino %llu mode %o links %u owner %u:%u size %llu m %lld.%09u c "
      "%lld.%09u\n",
      what, (x->stx_mask & mask) == mask, x->stx_dev_major, x->stx_dev_minor,
      (unsigned long long)x->stx_ino, x->stx_mode, x->stx_nlink, x->stx_uid, x->stx_gid,
      (unsigned long long)x->stx_size, (long long)x->stx_mtime.tv_sec, x->stx_mtime.tv_nsec,
      (long long)x->stx_ctime.tv_sec, x->stx_ctime.tv_nsec);
}

/* Only the origin knows these: birth time, mount, attributes, and in what the headers of newer
   kernels name, alignment for direct access and the like. */
static void show_rest(const char* what, int result, const struct statx* x) {
  const unsigned char* rest = (const unsigned char*)(&x->stx_dev_minor + 1);
  const unsigned char* end = (const unsigned char*)(x + 1);
  printf("%s: %d has %x block %u born %lld.%09u attributes %llx of %llx rest %016llx\n", what,
         result, x->stx_mask, x->stx_blksize, (long long)x->stx_btime.tv_sec,
         x->stx_btime.tv_nsec, (unsigned long long)x->stx_attributes,
         (unsigned long long)x->stx_attributes_mask,
         (unsigned long long)checksum(1, rest, (size_t)(end - rest)));
}

int main(int argc, char** argv) {
  if (argc == 3) { /* the child: nothing but the number is left */
    show("fstat in the child", fstat(atoi(argv[2]), &st));
    return 0;
  }
  if (argc != 2) return 2;
  const char* dir = argv[1];
  const char* f3 = join(dir, "f3");
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  int fd = open(f3, O_RDONLY);
  int other = open(join(dir, "notes.txt"), O_RDONLY);

  show("stat", stat(f3, &st));
  show("stat into nothing", stat(f3, NULL));
  show("stat64", stat64(f3, st64));
  show("lstat", lstat(f3, &st));
  show("lstat64", lstat64(f3, st64));
  show("fstat", fstat(fd, &st));
  show("fstat64", fstat64(fd, st64));
  show("fstatat", fstatat(dirfd, "f3", &st, 0));
  show("fstatat64", fstatat64(dirfd, "f3", st64, AT_SYMLINK_NOFOLLOW));
  show("fstatat empty", fstatat(fd, "", &st, AT_EMPTY_PATH));
  show("fstatat bad flags", fstatat(dirfd, "f3", &st, 0x40000000));
  show("fstatat null", fstatat(dirfd, (const char*)(intptr_t)0, &st, 0));
  show("__xstat", old_xstat(1, f3, &st));
  show("__xstat bad version", old_xstat(7, "/etc/none", &st));
  show("__lxstat", old_lxstat(1, f3, &st));
  show("__fxstat", old_fxstat(1, fd, &st));
  show("__fxstatat", old_fxstatat(1, dirfd, "f3", &st, 0));
  show("__xstat64", old_xstat64(1, f3, st64));
  show("__lxstat64", old_lxstat64(1, f3, st64));
  show("__fxstat64", old_fxstat64(1, fd, st64));
  show("__fxstatat64", old_fxstatat64(1, dirfd, "f3", st64, 0));

  show("empty frame", stat(join(dir, "f0"), &st));
  show("through a link", stat(join(dir, "../link/f4"), &st));
  show("symlink", stat(join(dir, "f77"), &st));
  show("symlink itself", lstat(join(dir, "f77"), &st));
  show("directory named as a frame", stat(join(dir, "f55"), &st));
  show("dataset", stat(dir, &st));
  show("no frame", stat(join(dir, "notes.txt"), &st));
  show("no frame, fstat", fstat(other, &st));
  show("missing", stat(join(dir, "f999"), &st));
  show("null", stat((const char*)(intptr_t)0, &st));
  show("nowhere to", stat(f3, (struct stat*)(intptr_t)0));
  show("empty", stat("", &st));
  show("bad fd", fstat(999, &st));

  struct statx x;
  unsigned masks[] = {STATX_BASIC_STATS, STATX_SIZE, STATX_MTIME | STATX_INO,
                      STATX_BASIC_STATS | STATX_BTIME};
  for (int i = 0; i < 4; ++i) {
    memset(&x, 0, sizeof x);
    show_x("statx", statx(AT_FDCWD, f3, 0, masks[i], &x), masks[i], &x);
    memset(&x, 0, sizeof x);
    show_x("statx at", statx(dirfd, "f3", AT_STATX_DONT_SYNC, masks[i], &x), masks[i], &x);
  }
  memset(&x, 0, sizeof x);
  show_x("statx empty", statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x), STATX_BASIC_STATS,
         &x);
  char link_to_fd[64];
  snprintf(link_to_fd, sizeof link_to_fd, "/proc/self/fd/%d", fd);
  unsigned more[] = {STATX_BTIME,        STATX_ALL,          STATX_ALL | STATX_MNT_ID,
                     STATX_ALL | 0x2000, STATX_ALL | 0x4000, STATX_ALL | 0x8000,
                     STATX_ALL | 0x10000};
  for (int i = 0; i < 7; ++i) {
    memset(&x, 0, sizeof x);
    show_rest("statx of all", statx(AT_FDCWD, f3, 0, more[i], &x), &x);
    memset(&x, 0, sizeof x);
    show_rest("statx of all, empty", statx(fd, "", AT_EMPTY_PATH, more[i], &x), &x);
    memset(&x, 0, sizeof x);
    show_rest("statx of all, link", statx(AT_FDCWD, link_to_fd, 0, more[i], &x), &x);
  }
  show_x("statx missing", statx(dirfd, "f999", 0, STATX_SIZE, &x), 0, &x);
  show_x("statx bad flags", statx(dirfd, "f3", 0x40000000, STATX_SIZE, &x), 0, &x);
  show_x("statx nowhere to", statx(dirfd, "f3", 0, STATX_SIZE, (struct statx*)(intptr_t)0), 0,
         &x);
  show_x("statx probe", statx(0, (char*)(intptr_t)0, 0, STATX_ALL, (struct statx*)(intptr_t)0),
         0, &x);

  int copy = dup(fd);
  close(fd);
  show("fstat of a dup", fstat(copy, &st));
  fflush(stdout);
  char number[16];
  snprintf(number, sizeof number, "%d", copy);
  if (fork() == 0) {
    execl("/proc/self/exe", argv[0], dir, number, (char*)0);
    _exit(1);
  }
  int status = 0;
  wait(&status);
  return WEXITSTATUS(status);
}
