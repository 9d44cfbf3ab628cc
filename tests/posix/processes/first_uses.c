/* Several threads whose first calls come at the same moment: each change is noticed, whoever of
   them is the first to look for a daemon. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "check.h"

enum { kChildren = 5, kThreads = 4 };

static const char* dir;
static atomic_int ready;
static int child;

static void* cut_one(void* number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/f%d", dir, child * kThreads + (int)(intptr_t)number + 1);
  atomic_fetch_add(&ready, 1);
  while (atomic_load(&ready) < kThreads) {
  }
  return truncate(path, 7) == 0 ? NULL : number;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  for (child = 0; child < kChildren; ++child) {
    pid_t pid = fork(); /* nothing was looked at before */
    if (pid == 0) {
      pthread_t threads[kThreads];
      for (intptr_t i = 0; i < kThreads; ++i) {
        pthread_create(&threads[i], NULL, cut_one, (void*)i);
      }
      for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
      _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("child %d: %d\n", child, status);
  }
  for (int i = 1; i <= kChildren * kThreads; ++i) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    show_fd(name, open(join(dir, name), O_RDONLY));
  }
  return 0;
}
