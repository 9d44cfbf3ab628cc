/* Every way to have a child, with and without libc's knowledge: the child uses a descriptor
   that it inherited and opens frames of its own; then the parent does, too. */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;

static const char* dir;
static int inherited;
static struct stat parents;

/* The differences from the parent's view, as bits. */
static int look(void) {
  int wrong = 0;
  struct stat st;
  unsigned char byte[100];
  if (fstat(inherited, &st) != 0 || st.st_ino != parents.st_ino ||
      st.st_dev != parents.st_dev || st.st_ctim.tv_nsec != parents.st_ctim.tv_nsec) {
    wrong |= 1;
  }
  if (pread(inherited, byte, sizeof byte, 0) != sizeof byte) wrong |= 2;
  char path[4096];
  snprintf(path, sizeof path, "%s/f6", dir);
  int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size != 6000) wrong |= 4;
  close(fd);
  if (stat(path, &st) != 0 || st.st_size != 6000) wrong |= 8;
  snprintf(path, sizeof path, "%s/f999", dir);
  if (open(path, O_RDONLY) >= 0 || errno != ENOENT) wrong |= 16;
  return wrong;
}

static void show(const char* what, pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, __WALL) != pid) {
    printf("%s: %s\n", what, strerrorname_np(errno));
  } else {
    printf("%s: %d, then the parent %d\n", what, status, look());
  }
}

static int cloned(void* unused) {
  (void)unused;
  return look();
}

static char stack[1 << 18] __attribute__((aligned(16)));

int main(int argc, char** argv) {
  if (argc == 4) { /* started by the first one, which left this number open */
    dir = argv[1];
    inherited = atoi(argv[2]);
    parents.st_ino = strtoul(argv[3], NULL, 10);
    struct stat st;
    return fstat(inherited, &st) != 0 || st.st_ino != parents.st_ino;
  }
  if (argc != 2) return 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  dir = argv[1];
  inherited = open(join(dir, "f5"), O_RDONLY);
  fstat(inherited, &parents);

  pid_t pid = fork();
  if (pid == 0) _exit(look());
  show("fork", pid);
  pid = _Fork();
  if (pid == 0) _exit(look());
  show("_Fork", pid);
  pid = vfork();
  if (pid == 0) _exit(look() == 0 ? 0 : 1);
  show("vfork", pid);
  pid = (pid_t)syscall(SYS_fork);
  if (pid == 0) _exit(look());
  show("SYS_fork", pid);
  pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(look());
  show("SYS_clone", pid);
  struct clone_args args = {.exit_signal = SIGCHLD};
  pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) _exit(look());
  show("SYS_clone3", pid);
  show("clone", clone(cloned, stack + sizeof stack, SIGCHLD, NULL));
  show("clone with CLONE_VM", clone(cloned, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
  show("clone with CLONE_FILES",
       clone(cloned, stack + sizeof stack, CLONE_FILES | CLONE_FS | SIGCHLD, NULL));

  static char self[4096], number[16], inode[32];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  snprintf(number, sizeof number, "%d", inherited);
  snprintf(inode, sizeof inode, "%lu", (unsigned long)parents.st_ino);
  char* arguments[] = {self, argv[1], number, inode, NULL};
  pid = fork();
  if (pid == 0) _exit(execv(self, arguments) != 0 ? 99 : 0);
  show("exec", pid);
  pid = vfork();
  if (pid == 0) {
    execv(self, arguments);
    _exit(99);
  }
  show("vfork and exec", pid);
  if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) != 0) pid = -1;
  show("posix_spawn", pid);
  char* bare[] = {NULL}; /* the child is without the shim: only its number is right then */
  char* true_arguments[] = {"true", NULL};
  if (posix_spawn(&pid, "/bin/true", NULL, NULL, true_arguments, bare) != 0) pid = -1;
  show("posix_spawn without environment", pid);

  printf("close_range %d\n", close_range(3, ~0U, 0));
  inherited = open(join(dir, "f5"), O_RDONLY);
  printf("next number %d, %d\n", inherited, look());
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  pid = fork();
  if (pid == 0) _exit(execv(self, arguments) != 0 ? 99 : 0);
  show("exec after CLOSE_RANGE_CLOEXEC", pid);
  closefrom(3);
  inherited = open(join(dir, "f5"), O_RDONLY);
  printf("after closefrom %d, %d\n", inherited, look());
  return 0;
}
