// A program that lists nothing: the ranks open the frames 0 to 11 of 24 by their names, in
// turn, as a program does that is told which frames to read.
#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  FILE* out = open_output(argv[2], rank);
  for (int i = rank; i < 12; i += size) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    read_file(out, argv[1], name);
  }
  if (fclose(out) != 0) fail(argv[2]);
  MPI_Finalize();
  return 0;
}
