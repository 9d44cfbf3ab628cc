/* traced DIRECTORY BASE streams|others|all: reads frames in every way that the trace tells
   apart, two frames in each function (from BASE on, f0 and f1 in the first, f2 and f3 in the
   second, and so on). Prints what it got, the numbers of its descriptors and errno among it, so
   that a run without Zazen can be compared. The marks at line ends are what the test looks for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced_library.h"

#define FUNCTION __attribute__((noinline)) static void
#define CHUNK 200

static const char* directory;
static int base;
static __thread unsigned sum;

static const char* frame(int number) {
  static __thread char path[4096];
  snprintf(path, sizeof path, "%s/f%d", directory, base + number);
  errno = 0;
  return path;
}

static void take(const void* bytes, long count) {
  for (long i = 0; i < count; ++i) sum = sum * 31 + ((const unsigned char*)bytes)[i];
}

FUNCTION by_read(int number) {
  char chunk[CHUNK];
  int fd = open(frame(number), O_RDONLY); /* mark: read's open */
  long got;
  while ((got = read(fd, chunk, sizeof chunk)) > 0) take(chunk, got); /* mark: read */
  printf("%d %d\n", fd, errno);
  close(fd); /* mark: read's close */
}

FUNCTION by_pread(int number) {
  char chunk[CHUNK];
  int fd = openat(AT_FDCWD, frame(number), O_RDONLY); /* mark: pread's open */
  long at = 0, got;
  for (; (got = pread(fd, chunk, sizeof chunk, at)) > 0; at += got) /* mark: pread */
    take(chunk, got);
  printf("%d %d\n", fd, errno);
  close(fd); /* mark: pread's close */
}

FUNCTION by_readv(int number) {
  char one[CHUNK], two[CHUNK];
  struct iovec parts[2] = {{one, sizeof one}, {two, sizeof two}};
  int fd = open(frame(number), O_RDONLY); /* mark: readv's open */
  long got = readv(fd, parts, 2);         /* mark: readv */
  take(one, CHUNK);
  take(two, got - CHUNK);
  got = preadv(fd, parts, 1, 50); /* mark: preadv */
  take(one, got);
  printf("%d %d\n", fd, errno);
  close(fd); /* mark: readv's close */
}

FUNCTION by_fread(int number) {
  char chunk[CHUNK];
  FILE* stream = fopen(frame(number), "rb"); /* mark: fread's open */
  long got;
  while ((got = fread(chunk, 1, sizeof chunk, stream)) > 0) take(chunk, got); /* mark: fread */
  printf("%d %d\n", fileno(stream), errno);
  fclose(stream); /* mark: fread's close */
}

FUNCTION by_getline(int number) {
  char* line = NULL;
  size_t capacity = 0;
  FILE* stream = fopen(frame(number), "r"); /* mark: getline's open */
  long got;
  while ((got = getline(&line, &capacity, stream)) > 0) take(line, got); /* mark: getline */
  free(line);
  printf("%d %d\n", fileno(stream), errno);
  fclose(stream); /* mark: getline's close */
}

FUNCTION by_mmap(int number) {
  struct stat st;
  int fd = open(frame(number), O_RDONLY); /* mark: mmap's open */
  fstat(fd, &st);
  void* place = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0); /* mark: mmap */
  take(place, st.st_size);
  munmap(place, st.st_size);
  close(fd); /* mark: mmap's close */
}

FUNCTION by_duplicate(int number) {
  char chunk[CHUNK];
  int fd = open(frame(number), O_RDONLY); /* mark: duplicate's open */
  int other = dup(fd);
  close(fd); /* mark: duplicate's close */
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0 || pipe_ends[0] != fd)
    abort(); /* the number is another file's now */
  if (write(pipe_ends[1], "x", 1) != 1 || read(fd, chunk, 1) != 1) abort();
  take(chunk, read(other, chunk, sizeof chunk)); /* mark: duplicate */
  close(other);                                  /* mark: duplicate's other close */
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

FUNCTION by_library(int number) {
  char bytes[2 * CHUNK];
  take(bytes, library_reads(frame(number), bytes, sizeof bytes)); /* mark: library */
  printf("%d\n", errno);
}

FUNCTION by_library_thread(int number) {
  char bytes[2 * CHUNK];
  take(bytes, library_reads_in_thread(frame(number), bytes, sizeof bytes));
}

static void* thread_reads(void* argument) {
  char bytes[2 * CHUNK];
  int number = *(int*)argument;
  for (int i = 0; i < 2; ++i) {
    int fd = open(frame(number + i), O_RDONLY); /* mark: thread's open */
    for (int again = 0; again < 500; ++again)
      take(bytes, pread(fd, bytes, 1, 7)); /* mark: thread */
    close(fd);                             /* mark: thread's close */
  }
  *(unsigned*)argument = sum;
  return NULL;
}

FUNCTION by_threads(int number) {
  pthread_t threads[4];
  int numbers[4];
  for (int i = 0; i < 4; ++i) {
    numbers[i] = number + 2 * i;
    pthread_create(&threads[i], NULL, thread_reads, &numbers[i]);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    sum += numbers[i];
  }
}

FUNCTION child_reads(int number) {
  char bytes[2 * CHUNK];
  int fd = open(frame(number), O_RDONLY);     /* mark: child's open */
  take(bytes, read(fd, bytes, sizeof bytes)); /* mark: child */
}

FUNCTION by_child(int number, int in_haste) {
  fflush(stdout);
  pid_t child = fork();
  int status = 0;
  if (child == 0) {
    child_reads(number);
    if (in_haste) _exit(3);
    exit(3);
  }
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

static int number_for_handler;

/* Its name would be a type if it were taken for one of C++. */
static void h(int unused) {
  char bytes[2 * CHUNK];
  (void)unused;
  int fd = open(frame(number_for_handler), O_RDONLY); /* mark: handler's open */
  take(bytes, read(fd, bytes, sizeof bytes));         /* mark: handler */
  close(fd);                                          /* mark: handler's close */
}

FUNCTION by_handler(int number) {
  number_for_handler = number;
  raise(SIGUSR1);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  directory = argv[1];
  base = atoi(argv[2]);
  int streams = strcmp(argv[3], "others") != 0, others = strcmp(argv[3], "streams") != 0;
  signal(SIGUSR1, h);
  void (*functions[])(int) = {by_read, by_pread,     by_readv,   by_fread,          by_getline,
                              by_mmap, by_duplicate, by_library, by_library_thread, by_handler};
  for (int i = streams ? 0 : 5; i < (others ? 10 : 5); ++i) {
    for (int turn = 0; turn < 2; ++turn) functions[i](2 * i + turn);
  }
  if (others) {
    by_threads(20);
    by_child(28, 0);
    by_child(29, 1);
  }
  char byte;
  errno = 0;
  if (read(-1, &byte, 1) == -1) printf("%d\n", errno);
  /* The symbols of a preloaded library must not replace those of our own libraries. */
  printf("%p\n", dlsym(RTLD_DEFAULT, "_Ux86_64_getcontext"));
  printf("%u\n", sum);
  return 7;
}
