/* A frame that is changed by way of syscall() is never read old again. Ends with the dataset
   changed, as changes.c does. */
#include <linux/openat2.h>
#include <sys/syscall.h>

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
  return 0;
}
