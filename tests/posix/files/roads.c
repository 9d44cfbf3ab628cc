/* Reads one file by one road that is named on the command line: roads ROAD DIRECTORY NAME. The
   test counts the hits: the road led to the copy. The roads by posix_spawn end in a program
   that prints its standard input, with "-write" into the file. */
#include <linux/openat2.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <wchar.h>

#include "check.h"

int __open(const char*, int, ...);
int __open64(const char*, int, ...);
FILE* _IO_fopen(const char*, const char*);
extern char** environ;

static const char *dir, *name, *path;
static int dirfd;

static int by_openat2(void) {
  struct open_how how = {.flags = O_RDONLY};
  return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof how);
}

static int by_descriptor(const char* road) {
  if (strcmp(road, "open") == 0) return open(path, O_RDONLY);
  if (strcmp(road, "openat") == 0) return openat(dirfd, name, O_RDONLY);
  if (strcmp(road, "__open") == 0) return __open(path, O_RDONLY);
  if (strcmp(road, "__open64") == 0) return __open64(path, O_RDONLY);
  if (strcmp(road, "SYS_open") == 0) return (int)syscall(SYS_open, path, O_RDONLY);
  if (strcmp(road, "SYS_openat") == 0) return (int)syscall(SYS_openat, dirfd, name, O_RDONLY);
  if (strcmp(road, "SYS_openat2") == 0) return by_openat2();
  return -1;
}

static FILE* by_stream(const char* road) {
  if (strcmp(road, "_IO_fopen") == 0) return _IO_fopen(path, "r");
  if (strcmp(road, "fopen-ccs") == 0) return fopen(path, "r,ccs=ISO-8859-1");
  if (strcmp(road, "freopen") == 0) return freopen(path, "r", stdin);
  if (strcmp(road, "freopen64") == 0) return freopen64(path, "r", stdin);
  return NULL;
}

/* With "waiting" a line is awaited between the making of the list and its use. */
static int by_spawn(const char* road) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (strstr(road, "-chdir") != NULL) posix_spawn_file_actions_addchdir_np(&actions, dir);
  if (strstr(road, "-fchdir") != NULL) posix_spawn_file_actions_addfchdir_np(&actions, dirfd);
  int relative = strstr(road, "chdir") != NULL;
  int writes = strstr(road, "-write") != NULL;
  posix_spawn_file_actions_addopen(&actions, writes, relative ? name : path,
                                   writes ? O_WRONLY | O_TRUNC : O_RDONLY, 0);
  if (strstr(road, "-waiting") != NULL) {
    fputs("made\n", stderr);
    getchar();
  }
  char* args[] = {"cat", NULL};
  pid_t pid = 0;
  int spawnp = strncmp(road, "spawnp", 6) == 0;
  int result = spawnp ? posix_spawnp(&pid, "cat", &actions, NULL, args, environ)
                      : posix_spawn(&pid, "/bin/cat", &actions, NULL, args, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  if (result == 0) waitpid(pid, &status, 0);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  dir = argv[2];
  name = argv[3];
  path = join(dir, name);
  dirfd = (int)syscall(SYS_open, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (strncmp(argv[1], "spawn", 5) == 0) return by_spawn(argv[1]);
  int fd = by_descriptor(argv[1]);
  if (fd >= 0) {
    char buffer[4096];
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
      write(1, buffer, (size_t)got);
    return 0;
  }
  FILE* stream = by_stream(argv[1]);
  if (stream == NULL) return 3;
  int is_wide = fwide(stream, 0) > 0;
  for (wint_t c; (c = is_wide ? fgetwc(stream) : (wint_t)fgetc(stream)) != WEOF;)
    putchar((int)c);
  return 0;
}
