/* The links of procfs to open frames: what they say, and what may be done through them. Only
   frames that are opened for reading through such a link may come from the cache. */
#include <limits.h>

#include "file_state.h"

ssize_t __readlink_chk(const char* path, char* out, size_t capacity, size_t size);
ssize_t __readlinkat_chk(int dirfd, const char* path, char* out, size_t capacity, size_t size);
char* __realpath_chk(const char* path, char* resolved, size_t size);

static const char* dir;

static int begin(const char* name) {
  int fd = open(join(dir, name), O_RDONLY);
  if (fd < 0) exit(3);
  return fd;
}

static void show_text(const char* what, ssize_t length, const char* text) {
  show_result(what, length);
  if (length > 0) printf("  %.*s\n", (int)length, text);
}

static void show_path(const char* what, const char* path) {
  printf("%s: %s\n", what, path == NULL ? strerrorname_np(errno) : path);
}

static void show_names(int fd) {
  char text[PATH_MAX], link[64], number[16];
  snprintf(number, sizeof number, "%d", fd);
  memset(text, '#', sizeof text);
  show_text("readlink", readlink(link_to(fd), text, sizeof text), text);
  printf("  then '%c'\n", text[readlink(link_to(fd), text, sizeof text)]);
  show_text("short", readlink(link_to(fd), text, 5), text);
  printf("  then '%c'\n", text[5]);
  snprintf(link, sizeof link, "/proc/%d/fd/%d", getpid(), fd);
  show_text("of this pid", readlink(link, text, sizeof text), text);
  snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
  show_text("of this thread", readlink(link, text, sizeof text), text);
  snprintf(link, sizeof link, "/dev/fd/%d", fd);
  show_text("of /dev/fd", readlink(link, text, sizeof text), text);
  int proc = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  show_text("readlinkat", readlinkat(proc, number, text, sizeof text), text);
  show_text("__readlinkat_chk", __readlinkat_chk(proc, number, text, 64, sizeof text), text);
  close(proc);
  show_text("__readlink_chk", __readlink_chk(link, text, 64, sizeof text), text);
  show_path("realpath", realpath(link, text));
  char* found = realpath(link_to(fd), NULL);
  show_path("realpath that allocates", found);
  free(found);
  show_path("__realpath_chk", __realpath_chk(link, text, sizeof text));
  found = canonicalize_file_name(link);
  show_path("canonicalize_file_name", found);
  free(found);
}

static void write_to(const char* what, int fd) {
  show_result(what, fd < 0 ? -1 : 0);
  if (fd < 0) return;
  show_result("  write", write(fd, what, strlen(what)));
  close(fd);
}

static void read_back(const char* name) {
  show_fd("  content", open(join(dir, name), O_RDONLY));
  struct stat st;
  if (stat(join(dir, name), &st) == 0) printf("  size %ld\n", (long)st.st_size);
}

static void show_as_standard_input(void) {
  char text[PATH_MAX];
  int fd = begin("f3");
  dup2(fd, 0);
  close(fd);
  show_text("/dev/stdin", readlink("/dev/stdin", text, sizeof text), text);
  show_path("realpath of it", realpath("/dev/stdin", text));
  show_fd("opened", open("/dev/stdin", O_RDONLY));
  write_to("written", open("/dev/stdin", O_WRONLY | O_APPEND));
  read_back("f3");
}

static void write_through(void) {
  int fd = begin("f4");
  write_to("O_WRONLY", open(link_to(fd), O_WRONLY));
  read_back("f4");
  close(fd);
  fd = begin("f5");
  write_to("O_TRUNC", openat(AT_FDCWD, link_to(fd), O_RDWR | O_TRUNC));
  read_back("f5");
  close(fd);
  fd = begin("f6");
  FILE* stream = fopen(link_to(fd), "r+");
  show_result("fopen", stream == NULL ? -1 : fputs("stream", stream));
  if (stream != NULL) fclose(stream);
  read_back("f6");
  close(fd);
  fd = begin("f7");
  stream = fopen64(link_to(fd), "a");
  show_result("fopen64", stream == NULL ? -1 : fputs("stream", stream));
  if (stream != NULL) fclose(stream);
  read_back("f7");
  close(fd);
  fd = begin("f8");
  show_result("truncate", truncate(link_to(fd), 11));
  read_back("f8");
  close(fd);
  fd = begin("f9");
  show_result("O_NOFOLLOW", open(link_to(fd), O_WRONLY | O_NOFOLLOW));
  int path = open(link_to(fd), O_PATH);
  show_result("linkat of O_PATH",
              linkat(path, "", AT_FDCWD, join(dir, "second"), AT_EMPTY_PATH));
  read_back("second");
  close(path);
  close(fd);
  fd = begin("f10");
  int proc = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  char number[16];
  snprintf(number, sizeof number, "%d", fd);
  write_to("openat", openat(proc, number, O_WRONLY));
  read_back("f10");
  if (chdir("/proc/self/fd") != 0) exit(4);
  write_to("relative", open(number, O_WRONLY | O_APPEND));
  if (chdir("/") != 0) exit(4);
  read_back("f10");
  close(proc);
  close(fd);
}

static void link_through(void) {
  int fd = begin("f11");
  show_result("linkat by link",
              linkat(AT_FDCWD, link_to(fd), AT_FDCWD, join(dir, "f111"), AT_SYMLINK_FOLLOW));
  show_state(join(dir, "f11"), fd);
  show_state(join(dir, "f111"), fd);
  show_result("linkat of the link", linkat(AT_FDCWD, link_to(fd), AT_FDCWD, join(dir, "l"), 0));
  show_result("linkat by descriptor",
              linkat(fd, "", AT_FDCWD, join(dir, "f112"), AT_EMPTY_PATH));
  show_state(join(dir, "f112"), fd);
  struct stat st;
  printf("names %lu\n", stat(join(dir, "f11"), &st) == 0 ? (unsigned long)st.st_nlink : 0);
  close(fd);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int fd = begin("f1");
  show_names(fd);
  unlink(join(dir, "f1"));
  show_names(fd);
  show_result("write to what is gone", open(link_to(fd), O_WRONLY | O_NOFOLLOW));
  close(fd);
  fd = begin("f2");
  rename(join(dir, "f20"), join(dir, "f2"));
  show_names(fd);
  close(fd);
  show_as_standard_input();
  write_through();
  link_through();

  char text[64];
  show_text("a frame is no link", readlink(join(dir, "f12"), text, sizeof text), text);
  show_text("a link of the user's", readlink(join(dir, "f77"), text, sizeof text), text);
  show_text("nothing open", readlink("/proc/self/fd/999", text, sizeof text), text);
  show_path("realpath of a frame", realpath(join(dir, "f12"), NULL));
  show_path("realpath of null", realpath(NULL, NULL));
  if (!sanitized) show_text("readlink of null", readlink(NULL, text, sizeof text), text);
  return 0;
}
