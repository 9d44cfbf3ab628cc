/* Every way to start a program with an environment of one's own: how many names does the
   child see in the directory? The environment has no ZAZEN_VIEW; the shim must hand it on. */
#include <dirent.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static int child(const char* directory) {
  DIR* dir = opendir(directory);
  int names = 0;
  while (readdir(dir) != NULL) ++names;
  closedir(dir);
  return names;
}

static char* environment[64];

static void make_environment(char** all) {
  int count = 0;
  for (; *all != NULL && count < 63; ++all) {
    if (strncmp(*all, "ZAZEN_VIEW=", 11) != 0 && strncmp(*all, "ZAZEN_REPORT=", 13) != 0) {
      environment[count++] = *all;
    }
  }
}

static void show(const char* what, pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  printf("%s: %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

#define CHILD(what, fork, call) \
  do {                          \
    pid_t started = fork();     \
    if (started == 0) {         \
      call;                     \
      _exit(99);                \
    }                           \
    show(what, started);        \
  } while (0)

/* Far more pointers than a small stack holds. */
enum { LARGE = 20000 };
static char* large[LARGE + 64];

static void make_large_environment(void) {
  int count = 0;
  for (; count < LARGE; ++count) large[count] = "A=1";
  for (char** variable = environment; *variable != NULL; ++variable) large[count++] = *variable;
}

static void* start_from_small_stack(void* args) {
  char* self = *(char**)args;
  pid_t pid = 0;
  CHILD("execve, large environment", fork, execve(self, args, large));
  CHILD("execve in vfork, large environment", vfork, execve(self, args, large));
  posix_spawn(&pid, self, NULL, NULL, args, large);
  show("posix_spawn, large environment", pid);
  for (int i = 0; i < 3; ++i) {
    int result = execve("/none", args, large);
    printf("execve of nothing %d %s\n", result, strerrorname_np(errno));
  }
  return NULL;
}

static void run_on_small_stack(char** args) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, sanitized ? 1 << 20 : 1 << 16);
  if (pthread_create(&thread, &attributes, start_from_small_stack, args) != 0) exit(1);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv, char** all) {
  if (argc == 3) return child(argv[2]);
  if (argc != 2) return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  make_environment(all);
  static char self[4096];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  char* args[] = {self, "child", argv[1], NULL};
  int fd = open(self, O_RDONLY | O_CLOEXEC);

  CHILD("execv", fork, execv(self, args));
  CHILD("execve", fork, execve(self, args, environment));
  CHILD("execve in vfork", vfork, execve(self, args, environment));
  CHILD("execvp", fork, execvp(self, args));
  CHILD("execvpe", fork, execvpe(self, args, environment));
  CHILD("execl", fork, execl(self, self, "child", argv[1], (char*)0));
  CHILD("execle", fork, execle(self, self, "child", argv[1], (char*)0, environment));
  CHILD("fexecve", fork, fexecve(fd, args, environment));
  CHILD("execveat", fork, execveat(AT_FDCWD, self, args, environment, 0));
  CHILD("SYS_execve", fork, syscall(SYS_execve, self, args, environment));
  CHILD("SYS_execve in vfork", vfork, syscall(SYS_execve, self, args, environment));
  CHILD("SYS_execveat", fork, syscall(SYS_execveat, AT_FDCWD, self, args, environment, 0));
  pid_t pid = 0;
  printf("posix_spawn %d\n", posix_spawn(&pid, self, NULL, NULL, args, environment));
  show("posix_spawn", pid);
  printf("posix_spawnp %d\n", posix_spawnp(&pid, self, NULL, NULL, args, environment));
  show("posix_spawnp", pid);
  printf("fork: %d\n", child(argv[1]));
  CHILD("missing", fork, execve("/none", args, environment));
  make_large_environment();
  run_on_small_stack(args);
  return 0;
}
