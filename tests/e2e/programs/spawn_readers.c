// Lists and reads; then all ranks together start argv[3] processes of the command in argv[4]
// and on, with MPI_Comm_spawn, and wait for them in MPI_Finalize.
#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* out = open_output(argv[2], rank);
  list_and_read(out, argv[1]);
  fclose(out);
  MPI_Comm children;
  MPI_Comm_spawn(argv[4], argv + 5, atoi(argv[3]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Finalize();
  return 0;
}
