/* Threads that are cancelled while they open, stat and list frames leave no descriptor behind
   that a thread without the shim would not leave, and no lock.

   open is a cancellation point that may lose the descriptor it has just made (glibc's bug
   12683), so a loop that opens may leave frames open; what must not be left is anything else:
   sockets, directories, files of the cache. A loop that only asks must leave nothing. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { kRounds = 60 };
static const char* dir;
static atomic_int turns;

static void* ask(void* argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  const char* path = argument;
  struct stat st;
  struct statx x;
  while (atomic_load(&turns) >= 0) {
    stat(path, &st);
    statx(AT_FDCWD, path, 0, STATX_ALL, &x);
    access(path, R_OK);
    fstatat(AT_FDCWD, path, &st, 0);
    atomic_fetch_add(&turns, 1);
  }
  return NULL;
}

/* For writing, too: then the shim has something to tell the daemon, and waits for an answer. */
static int next_mode(void) {
  return atomic_load(&turns) % 2 != 0 ? O_RDONLY : O_RDWR;
}

static void* open_deferred(void* argument) {
  const char* path = argument;
  while (atomic_load(&turns) >= 0) {
    int fd = open(path, next_mode());
    atomic_fetch_add(&turns, 1);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    close(fd);
    pthread_setcancelstate(state, NULL);
    pthread_testcancel();
  }
  return NULL;
}

static void* open_asynchronous(void* argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  const char* path = argument;
  while (atomic_load(&turns) >= 0) {
    int fd = open(path, next_mode());
    close(fd);
    atomic_fetch_add(&turns, 1);
  }
  return NULL;
}

static void close_it(void* fd) {
  if (*(int*)fd >= 0) close(*(int*)fd);
}

/* Cancelled before it opens: the descriptor is not made, or it is closed by the handler. */
static void* open_when_cancelled(void* argument) {
  volatile int fd = -1;
  pthread_cancel(pthread_self());
  pthread_cleanup_push(close_it, (void*)&fd);
  fd = open(argument, O_RDONLY);
  pthread_testcancel();
  pthread_cleanup_pop(0);
  return NULL;
}

/* Open files, and those of them that are no frames. */
static void count_open(const char* what, int frames_may_be_left) {
  int all = 0, others = 0;
  for (int fd = 3; fd < 1000; ++fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) continue;
    ++all;
    others += !S_ISREG(st.st_mode) || st.st_size != 7000;
    close(fd);
  }
  printf("%s: left %d, of them no frames %d\n", what, frames_may_be_left ? 0 : all, others);
}

static void cancel_many(const char* what, void* (*work)(void*), const char* path,
                        int frames_may_be_left) {
  int cancelled = 0;
  for (int round = 0; round < kRounds; ++round) {
    pthread_t thread;
    atomic_store(&turns, 0);
    if (pthread_create(&thread, NULL, work, (void*)path) != 0) abort();
    if (work != open_when_cancelled) {
      while (atomic_load(&turns) < 1 + round % 7) sched_yield();
      pthread_cancel(thread);
    }
    void* result;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("%s: cancelled %d\n", what, cancelled);
  count_open(what, frames_may_be_left);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  const char* f7 = join(dir, "f7");
  cancel_many("cancelled before open", open_when_cancelled, f7, 0);
  cancel_many("open, deferred", open_deferred, f7, 1);
  cancel_many("open, asynchronous", open_asynchronous, f7, 1);
  cancel_many("questions, asynchronous", ask, f7, 0);
  show_fd("and then", open(f7, O_RDONLY));
  return 0;
}
