/* chmod and chown by every road: the path, a directory's descriptor, a link of procfs, a
   descriptor. Each is seen by path and by a descriptor that was opened before. */
#include "file_state.h"

static const char* dir;

static int begin(const char* name) {
  int fd = open(join(dir, name), O_RDONLY);
  if (fd < 0) exit(3);
  return fd;
}

static void end(const char* name, int fd) {
  show_state(join(dir, name), fd);
  close(fd);
  show_fd("  again", open(join(dir, name), O_RDONLY));
}

#define CHANGE(what, call, name, fd)          \
  do {                                        \
    SHOW_CHANGE(what, join(dir, name), call); \
    end(name, fd);                            \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);

  int fd = begin("f1");
  CHANGE("chmod", chmod(join(dir, "f1"), 0640), "f1", -1);
  CHANGE("fchmod after it", fchmod(fd, 0600), "f1", fd);
  fd = begin("f2");
  CHANGE("fchmod", fchmod(fd, 0604), "f2", fd);
  fd = begin("f3");
  CHANGE("fchmodat", fchmodat(dirfd, "f3", 0611, 0), "f3", -1);
  CHANGE("fchmodat by link", fchmodat(AT_FDCWD, link_to(fd), 0622, 0), "f3", fd);
  fd = begin("f4");
  CHANGE("chmod by link", chmod(link_to(fd), 0633), "f4", fd);
  CHANGE("lchmod", lchmod(join(dir, "f5"), 0655), "f5", -1);
  fd = begin("f6");
  show_result("fchmod once", fchmod(fd, 0601));
  show_result("fchmod twice", fchmod(fd, 0602));
  int twin = dup(fd);
  CHANGE("fchmod of a duplicate", fchmod(twin, 0603), "f6", fd);
  close(twin);

  /* A descriptor of the origin's own file: O_PATH is never served from the cache. */
  int path = open(join(dir, "f16"), O_PATH);
  fd = open(link_to(path), O_RDONLY);
  CHANGE("fchmod at the origin", fchmod(fd, 0604), "f16", fd);
  close(path);

  CHANGE("chown", chown(join(dir, "f7"), getuid(), getgid()), "f7", -1);
  CHANGE("lchown", lchown(join(dir, "f8"), getuid(), getgid()), "f8", -1);
  CHANGE("fchownat", fchownat(dirfd, "f9", (uid_t)-1, getgid(), 0), "f9", -1);
  CHANGE("fchownat of the link",
         fchownat(dirfd, "f77", getuid(), getgid(), AT_SYMLINK_NOFOLLOW), "f77", -1);
  fd = begin("f10");
  CHANGE("fchown", fchown(fd, getuid(), (gid_t)-1), "f10", fd);
  fd = begin("f11");
  CHANGE("fchownat by descriptor", fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH), "f11",
         fd);
  fd = begin("f12");
  CHANGE("chown by link", chown(link_to(fd), getuid(), getgid()), "f12", fd);
  if (geteuid() == 0) {
    fd = begin("f13");
    CHANGE("chown to others", fchown(fd, 12, 34), "f13", fd);
    CHANGE("lchown to others", lchown(join(dir, "f14"), 56, 78), "f14", -1);
  }

  fd = begin("f15");
  unlink(join(dir, "f15"));
  struct stat st;
  int result = fstat(fd, &st);
  printf("removed: fstat %d size %ld\n", result, (long)st.st_size);
  show_fd("  content", fd);
  show_result("fchmod of nothing", fchmod(-1, 0600));
  show_result("chmod of nothing", chmod(join(dir, "f999"), 0600));
  show_result("chmod of null", chmod(NULL, 0600));
  show_result("fchmod of a directory", fchmod(dirfd, 0755));
  show_result("fchownat of an empty path", fchownat(dirfd, "", 0, 0, 0));
  return 0;
}
