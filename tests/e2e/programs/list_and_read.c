// An ordinary analysis program in C: it lists a directory, reads every file that it sees, and
// writes what it listed and read to OUT/rank-N. It divides nothing and knows of no cache.
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adler.h"

static void fail(const char* what) {
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_file(FILE* out, const char* directory, const char* name) {
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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d", argv[2], rank);
  FILE* out = fopen(path, "w");
  if (!out) fail(path);

  DIR* stream = opendir(argv[1]);
  if (!stream) fail(argv[1]);
  struct dirent* entry;
  while ((entry = readdir(stream))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    fprintf(out, "list %s\n", entry->d_name);
    read_file(out, argv[1], entry->d_name);
  }
  closedir(stream);
  if (fclose(out) != 0) fail(path);
  MPI_Finalize();
  return 0;
}
