#include "traced_library.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

struct task {
  const char* path;
  void* out;
  size_t size;
  long got;
};

static void* carry_out(void* argument) {
  struct task* task = argument;
  int fd = open(task->path, O_RDONLY);         /* mark: library thread's open */
  task->got = read(fd, task->out, task->size); /* mark: library thread */
  close(fd);                                   /* mark: library thread's close */
  return NULL;
}

long library_reads(const char* path, void* out, size_t size) {
  struct task task = {path, out, size, 0};
  carry_out(&task);
  return task.got;
}

long library_reads_in_thread(const char* path, void* out, size_t size) {
  struct task task = {path, out, size, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, carry_out, &task);
  pthread_join(thread, NULL);
  return task.got;
}
