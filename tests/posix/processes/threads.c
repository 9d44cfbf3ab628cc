/* Many threads open, stat and list the same frames; some are cancelled while they do. */
#include <dirent.h>
#include <pthread.h>

#include "check.h"

enum { kThreads = 8, kTurns = 200, kFrames = 10 };
static const char* dir;
static uint64_t expected[kFrames];

static uint64_t sum_of(int frame) {
  char path[4096];
  snprintf(path, sizeof path, "%s/f%d", dir, frame);
  int fd = open(path, O_RDONLY);
  struct stat by_path, by_fd;
  uint64_t sum = checksum_fd(fd);
  if (stat(path, &by_path) != 0 || fstat(fd, &by_fd) != 0 || by_path.st_ino != by_fd.st_ino ||
      by_path.st_size != by_fd.st_size || by_path.st_dev != by_fd.st_dev) {
    sum = 0;
  }
  close(fd);
  return sum;
}

static void* work(void* argument) {
  long wrong = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    int frame = (turn + (int)(intptr_t)argument) % kFrames;
    wrong += sum_of(frame) != expected[frame];
    if (turn % 20 == 0) {
      DIR* stream = opendir(dir);
      int entries = 0;
      while (readdir(stream) != NULL) ++entries;
      closedir(stream);
      wrong += entries == 0;
    }
  }
  return (void*)wrong;
}

static void* work_for_ever(void* unused) {
  (void)unused;
  for (int turn = 0;; ++turn) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sum_of(turn % kFrames);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    FILE* none = fopen("/none/f3", "r");
    if (none != NULL) abort();
    pthread_testcancel();
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  for (int i = 0; i < kFrames; ++i) expected[i] = sum_of(i);
  pthread_t threads[kThreads], victim;
  pthread_create(&victim, NULL, work_for_ever, NULL);
  for (intptr_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  long wrong = 0;
  for (int i = 0; i < kThreads; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  void* result;
  pthread_cancel(victim);
  pthread_join(victim, &result);
  printf("wrong %ld cancelled %d\n", wrong, result == PTHREAD_CANCELED);
  int fd = open("/dev/null", O_RDONLY);
  printf("next number %d\n", fd);
  return 0;
}
