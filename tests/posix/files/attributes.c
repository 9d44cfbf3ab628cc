/* Extended attributes: a frame has those that the origin gives it, by path and by descriptor,
   and no others. */
#include <sys/xattr.h>

#include "file_state.h"

static const char* dir;

static int begin(const char* name) {
  int fd = open(join(dir, name), O_RDONLY);
  if (fd < 0) exit(3);
  return fd;
}

static void show_list(const char* what, ssize_t size, char* list) {
  show_result(what, size);
  for (char* name = list; name < list + size; name += strlen(name) + 1) printf("  %s\n", name);
}

static void show_value(const char* what, ssize_t size, const char* value) {
  show_result(what, size);
  if (size > 0) printf("  %.*s\n", (int)size, value);
}

static void show_all(const char* path, int fd) {
  char text[256];
  show_list("  listxattr", listxattr(path, text, sizeof text), text);
  show_list("  llistxattr", llistxattr(path, text, sizeof text), text);
  show_list("  flistxattr", flistxattr(fd, text, sizeof text), text);
  show_list("  listxattr by link", listxattr(link_to(fd), text, sizeof text), text);
  show_result("  size of the list", flistxattr(fd, NULL, 0));
  show_result("  short list", flistxattr(fd, text, 1));
  for (int i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "user.note" : "user.zazen";
    show_value("  getxattr", getxattr(path, name, text, sizeof text), text);
    show_value("  lgetxattr", lgetxattr(path, name, text, sizeof text), text);
    show_value("  fgetxattr", fgetxattr(fd, name, text, sizeof text), text);
    show_value("  getxattr by link", getxattr(link_to(fd), name, text, sizeof text), text);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  const char* f1 = join(dir, "f1");
  int fd = begin("f1");
  show_all(f1, fd);
  SHOW_CHANGE("setxattr", f1, setxattr(f1, "user.note", "one", 3, 0));
  show_all(f1, fd);
  show_result("fsetxattr", fsetxattr(fd, "user.note", "two!", 4, XATTR_REPLACE));
  show_all(f1, fd);
  show_state(f1, fd);
  show_result("fsetxattr of an old name", fsetxattr(fd, "user.note", "x", 1, XATTR_CREATE));
  show_result("setxattr by link", setxattr(link_to(fd), "user.more", "three", 5, 0));
  show_all(f1, fd);
  show_state(f1, fd);
  show_result("fremovexattr", fremovexattr(fd, "user.note"));
  show_result("fremovexattr again", fremovexattr(fd, "user.note"));
  show_result("removexattr by link", removexattr(link_to(fd), "user.more"));
  show_all(f1, fd);
  show_state(f1, fd);
  show_fd("content", fd);

  const char* f2 = join(dir, "f2");
  fd = begin("f2");
  SHOW_CHANGE("lsetxattr", f2, lsetxattr(f2, "user.note", "four", 4, 0));
  show_all(f2, fd);
  show_result("removexattr", removexattr(f2, "user.note"));
  show_state(f2, -1);
  close(fd);

  const char* f4 = join(dir, "f4");
  fd = begin("f4"); /* has an attribute from the start */
  show_all(f4, fd);
  SHOW_CHANGE("lremovexattr", f4, lremovexattr(f4, "user.origin"));
  show_all(f4, fd);
  close(fd);

  fd = begin("f3");
  unlink(join(dir, "f3"));
  char text[64];
  show_value("removed", fgetxattr(fd, "user.zazen", text, sizeof text), text);
  show_list("removed", flistxattr(fd, text, sizeof text), text);
  close(fd);
  show_result("nothing", fgetxattr(-1, "user.note", text, sizeof text));
  show_result("nothing", flistxattr(-1, text, sizeof text));
  show_result("null", getxattr(NULL, "user.note", text, sizeof text));
  return 0;
}
