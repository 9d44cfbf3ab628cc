// Shared by the C programs: the output file of a rank, a sorted list of a directory's names,
// and the reading of one file. They divide nothing and know of no cache.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adler.h"

static inline void fail(const char* what) {
  perror(what);
  exit(1);
}

static inline FILE* open_output(const char* directory, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d", directory, rank);
  FILE* out = fopen(path, "w");
  if (!out) fail(path);
  return out;
}

static inline int is_name(const struct dirent* entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static inline int list(const char* directory, struct dirent*** entries) {
  int count = scandir(directory, entries, is_name, alphasort);
  if (count < 0) fail(directory);
  return count;
}

static inline void read_file(FILE* out, const char* directory, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int fd = open(path, O_RDONLY);
  if (fd < 0) fail(path);
  struct stat st;
  if (fstat(fd, &st) != 0) fail(path);
  if (S_ISREG(st.st_mode)) {
    unsigned long adler = 1, size = 0;
    unsigned char buffer[1 << 16];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0) {
      adler = adler_update(adler, buffer, (size_t)got);
      size += (unsigned long)got;
    }
    if (got < 0) fail(path);
    if (size != (unsigned long)st.st_size) fail("fstat and read disagree on the size");
    fprintf(out, "read %lu %lu %s\n", size, adler, name);
  }
  close(fd);
}

static inline void list_and_read(FILE* out, const char* directory) {
  struct dirent** entries;
  int count = list(directory, &entries);
  for (int i = 0; i < count; ++i) {
    fprintf(out, "list %s\n", entries[i]->d_name);
    read_file(out, directory, entries[i]->d_name);
  }
}
