// A program that divides the work itself: rank r of n reads every n-th name from the r-th on.
#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  FILE* out = open_output(argv[2], rank);
  struct dirent** entries;
  int count = list(argv[1], &entries), frames = 0;
  for (int i = 0; i < count; ++i) {
    const char* name = entries[i]->d_name;
    if (name[1] == '\0' || strspn(name + 1, "0123456789") != strlen(name + 1)) continue;
    fprintf(out, "list %s\n", name);
    if (frames++ % size == rank) read_file(out, argv[1], name);
  }
  fclose(out);
  MPI_Finalize();
  return 0;
}
