/* A signal handler leaves opens by siglongjmp, at any moment: on the way to the daemon, while
   it is waited for, in a pipe that nobody writes to. The program counts open descriptors that
   it did not ask for, and calls go on as before. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"

enum { kFrames = 22, kLimit = 4096 };
static sigjmp_buf back;

static void leave(int unused) {
  (void)unused;
  siglongjmp(back, 1);
}

/* The program's own file may be open already when the handler runs, as without the shim. */
static int strangers(const char* dir) {
  int count = 0;
  for (int fd = 3; fd < kLimit; ++fd) {
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0) continue;
    count += strncmp(path, dir, strlen(dir)) != 0 || path[strlen(dir)] != '/';
    close(fd);
  }
  return count;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* dir = argv[1];
  int times = atoi(argv[2]);
  volatile int jumped = 0;
  static char path[4096], pipe_path[4096];
  snprintf(pipe_path, sizeof pipe_path, "%s/f33", dir);
  mkfifo(pipe_path, 0600);
  struct sigaction action = {.sa_handler = leave};
  sigaction(SIGALRM, &action, NULL);
  for (volatile int i = 0; i < times; ++i) {
    int flags = i % 3 == 0 ? O_RDWR : O_RDONLY;
    snprintf(path, sizeof path, "%s/f%d", dir, i % kFrames);
    if (sigsetjmp(back, 1) != 0) {
      ++jumped;
      continue;
    }
    struct itimerval soon = {{0, 0}, {0, 1 + rand() % 600}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &soon, NULL);
    int fd = open(i % 50 == 49 ? pipe_path : path, flags & ~(i % 50 == 49 ? O_RDWR : 0));
    setitimer(ITIMER_REAL, &never, NULL);
    if (fd >= 0) close(fd);
  }
  unlink(pipe_path);
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  printf("jumped %d strangers %d blocked %d\n", jumped > 0, strangers(dir),
         sigismember(&mask, SIGALRM) || sigismember(&mask, SIGINT));
  for (int i = 0; i < kFrames; ++i) {
    snprintf(path, sizeof path, "%s/f%d", dir, i);
    show_fd("and then", open(path, O_RDONLY));
  }
  return 0;
}
