/* The times of a frame, set by every road. The time of the last access is not compared:
   a fill that is still under way is one, too. */
#include <sys/time.h>
#include <utime.h>

#include "file_state.h"

static const char* dir;

static int begin(const char* name) {
  int fd = open(join(dir, name), O_RDONLY);
  if (fd < 0) exit(3);
  return fd;
}

static void end(const char* what, int result, const char* name, int fd) {
  show_result(what, result);
  show_state(join(dir, name), fd);
  close(fd);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  struct utimbuf seconds = {1000000001, 1000000002};
  struct timeval micros[2] = {{1000000003, 3000}, {1000000004, 4000}};
  struct timespec nanos[2] = {{1000000005, 5}, {1000000006, 6}};
  struct timespec only_mtime[2] = {{0, UTIME_OMIT}, {1000000007, 7}};

  end("utime", utime(join(dir, "f1"), &seconds), "f1", -1);
  end("utimes", utimes(join(dir, "f2"), micros), "f2", -1);
  end("lutimes", lutimes(join(dir, "f3"), micros), "f3", -1);
  int fd = begin("f4");
  end("futimes", futimes(fd, micros), "f4", fd);
  end("futimesat", futimesat(dirfd, "f5", micros), "f5", -1);
  fd = begin("f6");
  end("futimesat by descriptor", futimesat(fd, NULL, micros), "f6", fd);
  end("utimensat", utimensat(dirfd, "f7", nanos, 0), "f7", -1);
  end("utimensat of the name", utimensat(AT_FDCWD, join(dir, "f8"), nanos, AT_SYMLINK_NOFOLLOW),
      "f8", -1);
  fd = begin("f9");
  end("futimens", futimens(fd, nanos), "f9", fd);
  fd = begin("f10");
  show_result("futimens once", futimens(fd, nanos));
  end("utimensat by descriptor", utimensat(fd, "", nanos, AT_EMPTY_PATH), "f10", fd);
  fd = begin("f11");
  end("utime by link", utime(link_to(fd), &seconds), "f11", fd);
  fd = begin("f12");
  end("utimes by link", utimes(link_to(fd), micros), "f12", fd);
  fd = begin("f13");
  end("utimensat by link", utimensat(AT_FDCWD, link_to(fd), nanos, 0), "f13", fd);
  fd = begin("f14");
  show_result("only the mtime", futimens(fd, only_mtime));
  show_state(join(dir, "f14"), fd);
  close(fd);

  show_result("utimensat of null", utimensat(dirfd, NULL, nanos, 0));
  show_result("futimens of nothing", futimens(-1, nanos));
  show_result("utime of nothing", utime(join(dir, "f999"), &seconds));
  return 0;
}
