// Lists a directory and writes the names to OUT/rank-N; reads nothing.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d", argv[2], rank);
  FILE* out = fopen(path, "w");
  DIR* stream = opendir(argv[1]);
  if (!out || !stream) MPI_Abort(MPI_COMM_WORLD, 1);
  struct dirent* entry;
  while ((entry = readdir(stream)))
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      fprintf(out, "list %s\n", entry->d_name);
  closedir(stream);
  if (fclose(out) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
