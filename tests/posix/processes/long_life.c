/* Reads, lists and stats frames in several threads, and in a handler of signals that come
   often, until its standard input ends. Prints how often it read, and how often anything was
   wrong. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "check.h"

enum { kFrames = 10, kThreads = 3 };
static char paths[kFrames][4096];
static uint64_t expected[kFrames];
static atomic_long reads, wrong;
static atomic_int over;

static uint64_t sum_of(int frame) {
  int fd = open(paths[frame], O_RDONLY);
  struct stat by_fd, by_path;
  uint64_t sum = checksum_fd(fd);
  if (fstat(fd, &by_fd) != 0 || stat(paths[frame], &by_path) != 0 ||
      by_fd.st_ino != by_path.st_ino || by_fd.st_dev != by_path.st_dev ||
      by_fd.st_size != frame * 1000) {
    sum = 0;
  }
  close(fd);
  return sum;
}

static void look(int frame) {
  if (sum_of(frame) != expected[frame]) atomic_fetch_add(&wrong, 1);
  atomic_fetch_add(&reads, 1);
}

static void handle(int unused) {
  (void)unused;
  int saved = errno;
  look((int)(reads % kFrames));
  errno = saved;
}

static void* read_on(void* unused) {
  for (int frame = 0; !over; frame = (frame + 1) % kFrames) look(frame);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int i = 0; i < kFrames; ++i) {
    snprintf(paths[i], sizeof paths[i], "%s/f%d", argv[1], i);
    expected[i] = sum_of(i);
  }
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, read_on, NULL);
  puts("started");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  setitimer(ITIMER_REAL, &never, NULL);
  over = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("reads %d wrong %ld\n", reads > 0, (long)wrong);
  return 0;
}
