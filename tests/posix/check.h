/* Shared by the small programs of this folder: they print what a call gave, errno by name,
   contents by a checksum, and never a word that differs from run to run. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The sanitizers' own hooks do not survive what some programs ask of libc. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static const int sanitized = 1;
#else
static const int sanitized = 0;
#endif

static inline uint64_t checksum(uint64_t sum, const unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 1099511628211ULL;
  return sum;
}

static inline uint64_t checksum_fd(int fd) {
  unsigned char buffer[4096];
  uint64_t sum = 14695981039346656037ULL;
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) sum = checksum(sum, buffer, (size_t)got);
  return sum;
}

/* One line for one open: the number, the flags, the content; or the error. Closes fd. */
static inline void show_fd(const char* what, int fd) {
  if (fd < 0) {
    printf("%s: %s\n", what, strerrorname_np(errno));
    return;
  }
  printf("%s: fd %d flags %o cloexec %d sum %016llx\n", what, fd, fcntl(fd, F_GETFL),
         fcntl(fd, F_GETFD), (unsigned long long)checksum_fd(fd));
  close(fd);
}

static inline const char* join(const char* directory, const char* name) {
  static char paths[8][4096];
  static unsigned turn;
  char* path = paths[turn++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}
