// A program that takes every size-th name, and whose ranks other than 0 go on writing for a
// second after MPI_Finalize: to OUT/rank-N, which is flushed when they end, and to the standard
// output. Then every rank ends in the way that argv[3] names; with "own" rank 0 has a status of
// its own.
#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* how = argv[3];
  FILE* out = open_output(argv[2], rank);
  struct dirent** entries;
  int count = list(argv[1], &entries);
  for (int i = rank; i < count; i += size) read_file(out, argv[1], entries[i]->d_name);
  MPI_Finalize();

  for (int i = 1; i <= 20; ++i) {
    if (rank != 0) usleep(50000);
    fprintf(out, "late %d\n", i);
    printf("rank %d late %d\n", rank, i);
  }
  if (strcmp(how, "own") == 0 && rank == 0) return 7;
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "return") == 0 || strcmp(how, "own") == 0) return 0;
  fflush(NULL);
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (strcmp(how, "_Exit") == 0) _Exit(0);
  if (strcmp(how, "quick_exit") == 0) quick_exit(0);
  return 99;
}
