/* How many names a file has, by a descriptor that was opened before its names changed; and the
   other things that a change by name does to it. */
#include "file_state.h"

static const char* dir;

static void show_open(const char* what, long result, int fd) {
  struct stat st;
  struct statx x;
  show_result(what, result);
  if (fstat(fd, &st) != 0 || statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &x) != 0) exit(4);
  printf("  links %lu, by statx %u, mode %o size %ld mtime %ld\n", st.st_nlink, x.stx_nlink,
         st.st_mode, (long)st.st_size, st.st_mtim.tv_sec);
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (stat(link, &st) != 0 || statx(AT_FDCWD, link, 0, STATX_NLINK, &x) != 0) exit(8);
  printf("  by its link %lu, by statx %u\n", st.st_nlink, x.stx_nlink);
  printf("  sum %016llx\n", (unsigned long long)checksum_fd(fd));
  lseek(fd, 0, SEEK_SET);
}

static int begin(const char* name) {
  int fd = open(join(dir, name), O_RDONLY);
  if (fd < 0) exit(3);
  return fd;
}

/* Beside a copy the old inode is free. Other files get the lower free numbers first. */
static void make_with_inode_of(int fd, const char* name) {
  struct stat old, st;
  if (fstat(fd, &old) != 0) exit(5);
  char path[4200] = "";
  int made = 0;
  do {
    snprintf(path, sizeof path, "%s/made %d", dir, made);
    int fresh = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (write(fresh, "new", 3) != 3 || fstat(fresh, &st) != 0) exit(6);
    close(fresh);
  } while (++made < 200 && st.st_ino != old.st_ino);
  if (rename(path, join(dir, name)) != 0) exit(7);
  while (--made > 0) {
    snprintf(path, sizeof path, "%s/made %d", dir, made - 1);
    unlink(path);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);

  int fd = begin("f1");
  show_open("unlink", unlink(join(dir, "f1")), fd);
  fd = begin("f2");
  show_open("unlinkat", unlinkat(dirfd, "f2", 0), fd);
  fd = begin("f3");
  show_open("remove", remove(join(dir, "f3")), fd);
  fd = begin("f0"); /* empty */
  show_open("unlink of nothing", unlink(join(dir, "f0")), fd);

  fd = begin("f4");
  int other = begin("f4");
  show_open("link", link(join(dir, "f4"), join(dir, "f104")), fd);
  show_open("the other descriptor", 0, other);
  show_open("unlink of one", unlink(join(dir, "f4")), fd);
  show_open("the other descriptor", 0, other);
  show_fd("under its other name", open(join(dir, "f104"), O_RDONLY));

  fd = begin("f14");
  show_open("linkat", linkat(dirfd, "f14", dirfd, "f114", 0), fd);
  show_open("linkat again", linkat(dirfd, "f14", dirfd, "second name", 0), fd);
  show_open("unlink of a name that is no frame's", unlinkat(dirfd, "second name", 0), fd);
  fd = begin("f15");
  show_open("chmod before unlink", chmod(join(dir, "f15"), 0600), fd);
  show_open("and unlink", unlink(join(dir, "f15")), fd);

  fd = begin("f16");
  unlink(join(dir, "f16"));
  make_with_inode_of(fd, "f16");
  show_open("another file of that name", 0, fd);

  fd = begin("f5");
  show_open("rename", rename(join(dir, "f5"), join(dir, "f105")), fd);
  fd = begin("f6");
  other = begin("f7");
  show_open("rename over another", renameat(dirfd, "f6", dirfd, "f7"), fd);
  show_open("which is gone", 0, other);
  fd = begin("f8");
  other = begin("f9");
  show_open("exchange", renameat2(dirfd, "f8", dirfd, "f9", RENAME_EXCHANGE), fd);
  show_open("the other one", 0, other);

  fd = begin("f10");
  show_open("chmod", chmod(join(dir, "f10"), 0600), fd);
  struct timespec times[2] = {{1100000000, 0}, {1100000000, 0}};
  fd = begin("f11");
  show_open("utimensat", utimensat(dirfd, "f11", times, 0), fd);
  fd = begin("f12");
  show_open("failed unlink", unlink(join(dir, "f12/none")), fd);
  show_open("failed link", link(join(dir, "f12"), join(dir, "f13")), fd);
  return 0;
}
