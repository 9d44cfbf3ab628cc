/* Names that are made in a dataset: a second name of a frame; a directory, a link, a pipe where
   a frame was that somebody removed without the shim, so that its copy is still there. */
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "file_state.h"

static const char* dir;

/* By a program that runs without the shim. */
static void lose(const char* name) {
  fflush(stdout);
  if (fork() == 0) {
    unsetenv("LD_PRELOAD");
    execlp("rm", "rm", join(dir, name), (char*)NULL);
    _exit(127);
  }
  int status;
  wait(&status);
  if (status != 0) exit(3);
}

static void look(const char* what, int result, const char* name) {
  show_result(what, result);
  struct stat st;
  if (lstat(join(dir, name), &st) == 0) printf("  type %o\n", st.st_mode & S_IFMT);
  show_result("  access", access(join(dir, name), R_OK));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
  int fd = open(join(dir, "f1"), O_RDONLY);
  SHOW_CHANGE("link", join(dir, "f1"), link(join(dir, "f1"), join(dir, "f101")));
  show_state(join(dir, "f1"), -1);
  show_state(join(dir, "f101"), -1);
  show_fd("  content", open(join(dir, "f101"), O_RDONLY));
  close(fd);
  SHOW_CHANGE("linkat", join(dir, "f2"), linkat(dirfd, "f2", dirfd, "f102", 0));
  struct stat one, other;
  printf("  the same %d\n", stat(join(dir, "f2"), &one) == 0 &&
                                stat(join(dir, "f102"), &other) == 0 &&
                                one.st_ino == other.st_ino && one.st_nlink == other.st_nlink);
  show_result("link over a frame", link(join(dir, "f2"), join(dir, "f3")));
  show_fd("  content", open(join(dir, "f3"), O_RDONLY));

  for (int i = 4; i <= 15; ++i) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    lose(name);
  }
  look("mkdir", mkdir(join(dir, "f4"), 0755), "f4");
  look("mkdirat", mkdirat(dirfd, "f5", 0755), "f5");
  look("symlink", symlink("nowhere", join(dir, "f6")), "f6");
  look("symlinkat", symlinkat("nowhere", dirfd, "f7"), "f7");
  look("mknod", mknod(join(dir, "f8"), S_IFIFO | 0644, 0), "f8");
  look("mknodat", mknodat(dirfd, "f9", S_IFIFO | 0644, 0), "f9");
  look("mkfifo", mkfifo(join(dir, "f10"), 0644), "f10");
  look("mkfifoat", mkfifoat(dirfd, "f11", 0644), "f11");
  show_result("linkat", linkat(dirfd, "f2", dirfd, "f12", 0));
  show_fd("  content", open(join(dir, "f12"), O_RDONLY));
  show_result("rename", rename(join(dir, "f16"), join(dir, "f13")));
  show_fd("  content", open(join(dir, "f13"), O_RDONLY));
  show_result("rmdir", rmdir(join(dir, "f4")));
  show_result("rmdir again", rmdir(join(dir, "f4")));
  show_result("  access", access(join(dir, "f4"), F_OK));
  show_result("mkdir of null", mkdir(NULL, 0755));
  show_result("mkdir over a frame", mkdir(join(dir, "f17"), 0755));
  show_fd("  content", open(join(dir, "f17"), O_RDONLY));
  return 0;
}
