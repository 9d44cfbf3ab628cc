/* A frame that is changed by way of syscall() is never read old again. Ends with the dataset
   changed, as changes.c does. */
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "check.h"

static const char* dir;

static void read_back(const char* name) {
  char what[64];
  snprintf(what, sizeof what, "  %s", name);
  show_fd(what, open(join(dir, name), O_RDONLY));
}

static void write_fd(const char* what, long fd, const char* text) {
  printf("%s: %ld %ld\n", what, fd, (long)write((int)fd, text, strlen(text)));
  close((int)fd);
}

static void show(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result == 0 ? "" : strerrorname_np(errno));
}

/* The stat of the frame; its copy must not answer with the old state. */
static void stat_back(const char* name) {
  struct stat st;
  if (stat(join(dir, name), &st) != 0) return;
  printf("  %s: mode %o owner %u %u links %ld mtime %ld\n", name, st.st_mode, st.st_uid,
         st.st_gid, (long)st.st_nlink, (long)st.st_mtime);
}

/* Modes, owners, times, attributes and names, by path and by a descriptor of the frame. */
static void describe(int dirfd) {
  int fd = open(join(dir, "f6"), O_RDONLY);
  show("fchmod", syscall(SYS_fchmod, fd, 0604));
  show("fchown", syscall(SYS_fchown, fd, 1, 2));
  struct timespec times[2] = {{7, 0}, {8, 0}};
  show("utimensat of a descriptor", syscall(SYS_utimensat, fd, NULL, times, 0));
  show("fsetxattr", syscall(SYS_fsetxattr, fd, "user.a", "b", 1UL, 0));
  char text[64] = "";
  printf("fgetxattr %ld ", syscall(SYS_fgetxattr, fd, "user.a", text, sizeof text));
  printf("flistxattr %ld %s\n", syscall(SYS_flistxattr, fd, text, sizeof text), text);
  show("fremovexattr", syscall(SYS_fremovexattr, fd, "user.a"));
  stat_back("f6");
  close(fd);
  show("chmod", syscall(SYS_chmod, join(dir, "f7"), 0640));
  stat_back("f7");
  show("fchmodat", syscall(SYS_fchmodat, dirfd, "f8", 0600));
  stat_back("f8");
  show("chown", syscall(SYS_chown, join(dir, "f7"), 3, 4));
  show("lchown", syscall(SYS_lchown, join(dir, "f8"), 5, 6));
  show("fchownat", syscall(SYS_fchownat, dirfd, "f9", 7, 8, 0));
  stat_back("f7");
  stat_back("f8");
  stat_back("f9");
  struct utimbuf seconds = {9, 10};
  struct timeval micros[2] = {{11, 0}, {12, 0}};
  show("utime", syscall(SYS_utime, join(dir, "f7"), &seconds));
  show("utimes", syscall(SYS_utimes, join(dir, "f8"), micros));
  show("futimesat", syscall(SYS_futimesat, dirfd, "f9", micros));
  show("utimensat", syscall(SYS_utimensat, dirfd, "f11", times, AT_SYMLINK_NOFOLLOW));
  stat_back("f7");
  stat_back("f8");
  stat_back("f9");
  stat_back("f11");
  show("setxattr", syscall(SYS_setxattr, join(dir, "f11"), "user.a", "bc", 2UL, 0));
  printf("getxattr %ld\n",
         syscall(SYS_getxattr, join(dir, "f11"), "user.a", text, sizeof text));
  show("removexattr", syscall(SYS_removexattr, join(dir, "f11"), "user.a"));
  show("link", syscall(SYS_link, join(dir, "f20"), join(dir, "f200")));
  show("linkat", syscall(SYS_linkat, dirfd, "f20", dirfd, "f201", 0));
  read_back("f200");
  stat_back("f20");
  show("symlink", syscall(SYS_symlink, "f20", join(dir, "f202")));
  read_back("f202");
}

/* An open frame's name in /proc is the origin's. */
static void say_name(void) {
  char link[64], text[4096];
  int fd = open(join(dir, "f21"), O_RDONLY);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long length = syscall(SYS_readlink, link, text, sizeof text);
  printf("readlink %d\n", length == (long)strlen(join(dir, "f21")) &&
                              memcmp(text, join(dir, "f21"), (size_t)length) == 0);
  show("chmod of the link", syscall(SYS_chmod, link, 0600));
  close(fd);
  stat_back("f21");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  write_fd("open", syscall(SYS_open, join(dir, "f1"), O_WRONLY), "one");
  read_back("f1");
  write_fd("openat", syscall(SYS_openat, dirfd, "f2", O_WRONLY | O_TRUNC), "two");
  read_back("f2");
  struct open_how how = {.flags = O_RDWR};
  write_fd("openat2", syscall(SYS_openat2, dirfd, "f3", &how, sizeof how), "three");
  read_back("f3");
  how.resolve = RESOLVE_BENEATH;
  write_fd("openat2 beneath", syscall(SYS_openat2, dirfd, "f4", &how, sizeof how), "four");
  read_back("f4");
  write_fd("creat", syscall(SYS_creat, join(dir, "f5"), 0600), "five");
  read_back("f5");
  write_fd("new", syscall(SYS_open, join(dir, "f100"), O_WRONLY | O_CREAT | O_EXCL, 0640),
           "new");
  read_back("f100");
  show("truncate", syscall(SYS_truncate, join(dir, "f10"), 7L));
  read_back("f10");
  show("rename", syscall(SYS_rename, join(dir, "f12"), join(dir, "f13")));
  read_back("f12");
  read_back("f13");
  show("renameat", syscall(SYS_renameat, dirfd, "f14", dirfd, "f15"));
  read_back("f15");
  show("renameat2", syscall(SYS_renameat2, dirfd, "f16", dirfd, "f17", RENAME_EXCHANGE));
  read_back("f16");
  read_back("f17");
  show("unlink", syscall(SYS_unlink, join(dir, "f18")));
  read_back("f18");
  show("unlinkat", syscall(SYS_unlinkat, dirfd, "f19", 0));
  read_back("f19");
  describe(dirfd);
  say_name();
  return 0;
}
