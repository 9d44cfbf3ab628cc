/* A frame that is changed through its name is never read old again. Ends with the dataset
   changed; the test makes a new one for each run. */
#include "check.h"

static const char* dir;

static void read_back(const char* name) {
  char what[64];
  snprintf(what, sizeof what, "  %s", name);
  show_fd(what, open(join(dir, name), O_RDONLY));
  struct stat st;
  if (stat(join(dir, name), &st) == 0) printf("  size %ld\n", (long)st.st_size);
}

static void write_fd(const char* what, int fd, const char* text) {
  printf("%s: %d %ld\n", what, fd, (long)write(fd, text, strlen(text)));
  close(fd);
}

static void show(const char* what, int result) {
  printf("%s: %d %s\n", what, result, result == 0 ? "" : strerrorname_np(errno));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  write_fd("O_WRONLY|O_TRUNC", open(join(dir, "f1"), O_WRONLY | O_TRUNC), "one");
  read_back("f1");
  write_fd("O_WRONLY", open(join(dir, "f2"), O_WRONLY), "two");
  read_back("f2");
  write_fd("O_RDWR", open(join(dir, "f3"), O_RDWR), "three");
  read_back("f3");
  write_fd("O_APPEND", openat(dirfd, "f4", O_WRONLY | O_APPEND), "four");
  read_back("f4");
  write_fd("creat", creat(join(dir, "f5"), 0600), "five");
  read_back("f5");
  write_fd("creat64", creat64(join(dir, "f6"), 0600), "six");
  read_back("f6");
  write_fd("new", open(join(dir, "f100"), O_WRONLY | O_CREAT | O_EXCL, 0640), "new");
  read_back("f100");

  FILE* stream = fopen(join(dir, "f7"), "w");
  fputs("seven", stream);
  fclose(stream);
  read_back("f7");
  stream = fopen64(join(dir, "f8"), "a");
  fputs("eight", stream);
  fclose(stream);
  read_back("f8");
  stream = fopen(join(dir, "f9"), "r+");
  fputs("nine", stream);
  stream = freopen(join(dir, "f8"), "w", stream);
  fputs("eight again", stream);
  fclose(stream);
  read_back("f9");
  read_back("f8");

  stream = fopen(join(dir, "f21"), "r");
  stream = freopen(NULL, "w", stream);
  fputs("reopened without a name", stream);
  fclose(stream);
  read_back("f21");

  show("truncate", truncate(join(dir, "f10"), 7));
  read_back("f10");
  show("truncate64", truncate64(join(dir, "f11"), 8));
  read_back("f11");
  show("rename over", rename(join(dir, "f12"), join(dir, "f13")));
  read_back("f12");
  read_back("f13");
  show("renameat", renameat(dirfd, "f14", dirfd, "f15"));
  read_back("f15");
  show("exchange", renameat2(dirfd, "f16", dirfd, "f17", RENAME_EXCHANGE));
  read_back("f16");
  read_back("f17");
  show("unlink", unlink(join(dir, "f18")));
  read_back("f18");
  show("unlinkat", unlinkat(dirfd, "f19", 0));
  read_back("f19");
  show("remove", remove(join(dir, "f20")));
  read_back("f20");
  show("access", access(join(dir, "f20"), R_OK));
  show("unlink missing", unlink(join(dir, "f999")));
  show("rename missing", rename(join(dir, "f999"), join(dir, "f21")));
  read_back("f21");
  show("remove a directory", remove(join(dir, "f55")));
  return 0;
}
