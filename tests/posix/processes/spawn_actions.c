/* posix_spawn with file actions: the files under the child's numbers, and the errors. The
   child is this program; it prints what it was given. */
#include <spawn.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;
static char self[4096];

/* Numbers 0, 1 and 2 are the test's, but for "stdin". */
static int child(const char* what) {
  char line[160];
  if (strcmp(what, "stdin") == 0) show_fd("  stdin", 0);
  for (int fd = 3; fd < 40; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    struct stat st;
    fstat(fd, &st);
    snprintf(line, sizeof line, "  at %ld, size %ld, mode %o", (long)lseek(fd, 0, SEEK_CUR),
             (long)st.st_size, st.st_mode);
    show_fd(line, fd);
  }
  return 0;
}

static posix_spawn_file_actions_t actions;

static void run(const char* what, const char* program, posix_spawnattr_t* attributes) {
  char* args[] = {self, "child", (char*)(intptr_t)what, NULL};
  pid_t pid = 0;
  int result = posix_spawn(&pid, program, &actions, attributes, args, environ);
  int status = 0;
  if (result == 0) waitpid(pid, &status, 0);
  printf("%s: %s, ended %d\n", what, result == 0 ? "started" : strerrorname_np(result), status);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawn_file_actions_init(&actions);
}

static void add(int fd, const char* path, int flags) {
  posix_spawn_file_actions_addopen(&actions, fd, path, flags, 0640);
}

int main(int argc, char** argv) {
  if (argc == 3) return child(argv[2]);
  if (argc != 2) return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  const char* dir = argv[1];
  int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  posix_spawn_file_actions_init(&actions);

  run("none", self, NULL);
  add(0, join(dir, "f5"), O_RDONLY);
  run("stdin", self, NULL);
  add(7, join(dir, "f6"), O_RDONLY | O_NONBLOCK);
  add(8, join(dir, "f7"), O_RDONLY);
  add(9, join(dir, "notes.txt"), O_RDONLY);
  add(7, join(dir, "f8"), O_RDONLY);
  run("several", self, NULL);
  add(7, join(dir, "f6"), O_RDONLY | O_CLOEXEC);
  posix_spawn_file_actions_adddup2(&actions, 7, 8);
  run("close on exec, duplicated", self, NULL);
  add(5, join(dir, "f77"), O_RDONLY);
  add(6, join(dir, "../link/f3"), O_RDONLY);
  add(7, join(dir, "../other/f3"), O_RDONLY);
  run("links", self, NULL);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  add(7, join(dir, "f6"), O_RDONLY);
  run("after closefrom", self, NULL);

  add(7, join(dir, "f6"), O_RDONLY);
  add(8, join(dir, "f999"), O_RDONLY);
  run("missing frame", self, NULL);
  add(7, join(dir, "f6"), O_RDONLY);
  run("missing program", "/none", NULL);
  add(7, join(dir, "f6"), O_RDONLY | O_DIRECTORY);
  run("no directory", self, NULL);
  add(7, join(dir, "f6"), O_RDONLY);
  add(8, join(dir, "f5"), O_WRONLY | O_CREAT | O_EXCL);
  run("exclusive", self, NULL);
  printf("bad number %d\n", posix_spawn_file_actions_addopen(&actions, -1, "f3", 0, 0));

  posix_spawn_file_actions_addchdir_np(&actions, dir);
  add(7, "f6", O_RDONLY);
  posix_spawn_file_actions_addchdir_np(&actions, "../other");
  add(8, "f3", O_RDONLY);
  add(9, "../sim1/f4", O_RDONLY);
  run("after chdir", self, NULL);
  posix_spawn_file_actions_addfchdir_np(&actions, dirfd);
  add(7, "f6", O_RDONLY);
  run("after fchdir", self, NULL);
  add(20, join(dir, "../other"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  posix_spawn_file_actions_addfchdir_np(&actions, 20);
  add(7, "f3", O_RDONLY);
  run("after fchdir to a new number", self, NULL);
  add(dirfd, join(dir, "../other"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  posix_spawn_file_actions_addfchdir_np(&actions, dirfd);
  add(7, "f3", O_RDONLY);
  run("after fchdir to a number that means another", self, NULL);
  posix_spawn_file_actions_addchdir_np(&actions, join(dir, "none"));
  add(7, "f3", O_RDONLY);
  run("after chdir to nowhere", self, NULL);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETPGROUP);
  add(7, join(dir, "f6"), O_RDONLY);
  run("with attributes", self, &attributes);

  /* The list stays the caller's: it works twice, also after another directory is current. */
  if (chdir(dir) != 0) return 1;
  posix_spawn_file_actions_addchdir_np(&actions, "../other");
  add(7, "f3", O_RDONLY);
  run("from one directory to another", self, NULL);
  add(7, "f6", O_RDONLY);
  char* args[] = {self, "child", "spawnp", NULL};
  for (int turn = 0; turn < 3; ++turn) {
    pid_t pid = 0;
    errno = ENOTTY;
    int result = posix_spawnp(&pid, self, &actions, NULL, args, environ);
    int after = errno;
    if (result == 0) waitpid(pid, NULL, 0);
    printf("posix_spawnp %d errno %s\n", result, strerrorname_np(after));
    if (turn == 1 && chdir("../other") != 0) return 1;
  }
  posix_spawn_file_actions_destroy(&actions);
  printf("next number %d\n", open("/dev/null", O_RDONLY));
  return 0;
}
