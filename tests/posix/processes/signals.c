/* A signal handler opens, reads and stats frames while the main program is in the middle of
   open, malloc, opendir and stat. How often it ran is the timer's affair; that it never saw
   anything wrong is ours. */
#include <dirent.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"

enum { kSignals = 1000, kFrames = 10 };
static char paths[kFrames][4096];
static uint64_t expected[kFrames];
static volatile sig_atomic_t signals, wrong;

static uint64_t sum_of(int frame) {
  int fd = open(paths[frame], O_RDONLY);
  struct stat by_fd, by_path;
  uint64_t sum = checksum_fd(fd);
  if (fstat(fd, &by_fd) != 0 || stat(paths[frame], &by_path) != 0 ||
      by_fd.st_ino != by_path.st_ino || by_fd.st_size != frame * 1000) {
    sum = 0;
  }
  close(fd);
  return sum;
}

static void handle(int unused) {
  (void)unused;
  int saved = errno;
  errno = 4711;
  int frame = signals % kFrames;
  if (sum_of(frame) != expected[frame]) ++wrong;
  if (errno != 4711) ++wrong;
  if (access(paths[frame], R_OK) != 0) ++wrong;
  signals = signals + 1;
  errno = saved;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int i = 0; i < kFrames; ++i) {
    snprintf(paths[i], sizeof paths[i], "%s/f%d", argv[1], i);
    expected[i] = sum_of(i);
  }
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int turn = 0; signals < kSignals; ++turn) {
    int frame = turn % kFrames;
    for (int i = 0; i < kFrames; ++i) {
      if (sum_of(i) != expected[i]) ++wrong;
    }
    char* block = malloc((size_t)(turn % 5000) + 1);
    DIR* stream = opendir(argv[1]);
    int names = 0;
    while (readdir(stream) != NULL) ++names;
    closedir(stream);
    free(block);
    FILE* file = fopen(paths[frame], "r");
    if (names < kFrames || file == NULL || fclose(file) != 0) ++wrong;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("wrong %d\n", (int)wrong);
  show_fd("and then", open(paths[3], O_RDONLY));
  return 0;
}
