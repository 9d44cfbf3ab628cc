/* Linked with musl by other_libc.py: the hooks have nothing to do there but to forward. Prints
   what the calls gave, its child as well. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char** environ;
static int visited;

static int visit(const char* path, const struct stat* st, int kind, struct FTW* where) {
  (void)path, (void)kind, (void)where;
  visited += st->st_size >= 0;
  return 0;
}

static void* read_frame(void* path) {
  char bytes[100];
  int fd = open(path, O_RDONLY);
  printf("in a thread: %zd\n", read(fd, bytes, sizeof bytes));
  close(fd);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  char bytes[100], real[4096];
  int fd = open("f3", O_RDONLY);
  struct stat by_path, by_fd;
  printf("stat %d %d\n", stat("f3", &by_path), fstat(fd, &by_fd));
  printf("same %d size %ld\n", by_path.st_ino == by_fd.st_ino, (long)by_path.st_size);
  printf("lstat %d access %d\n", lstat("f77", &by_path), access("f3", R_OK));
  printf("syscall %ld\n", syscall(SYS_read, fd, bytes, sizeof bytes));
  FILE* file = fopen("f4", "r");
  printf("fread %zu\n", fread(bytes, 1, sizeof bytes, file));
  file = freopen("f5", "r", file);
  printf("freopen %zu\n", fread(bytes, 1, sizeof bytes, file));
  fclose(file);
  DIR* stream = opendir(".");
  int names = 0;
  while (readdir(stream) != NULL) ++names;
  printf("names %d %d\n", names, closedir(stream));
  struct dirent** list;
  printf("scandir %d\n", scandir(".", &list, NULL, alphasort));
  glob_t found;
  printf("glob %d %zu\n", glob("f*", 0, NULL, &found), found.gl_pathc);
  printf("nftw %d %d\n", nftw(".", visit, 4, FTW_PHYS), visited);
  struct statvfs disk;
  printf("statvfs %d realpath %d readlink %zd\n", statvfs("f3", &disk),
         realpath("f3", real) != NULL, readlink("f77", real, sizeof real));
  printf("getxattr %zd\n", getxattr("f4", "user.origin", real, sizeof real));
  fd = open("new", O_WRONLY | O_CREAT | O_EXCL, 0600);
  printf("created %zd %d %d\n", write(fd, "abc", 3), chmod("new", 0640),
         rename("new", "newer"));
  printf("unlink %d missing %d\n", unlink("newer"), open("newer", O_RDONLY));
  pthread_t thread;
  pthread_create(&thread, NULL, read_frame, "f6");
  pthread_join(thread, NULL);
  fflush(stdout);
  if (argc > 2) return 0;
  char* arguments[] = {argv[0], argv[1], "child", NULL};
  pid_t child;
  if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0) return 3;
  waitpid(child, NULL, 0);
  execv(argv[0], arguments);
  return 4;
}
