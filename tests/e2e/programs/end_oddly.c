// Every rank lists and reads; then the job ends in the way that argv[3] names.
//
// abort, crash, exit, kill: the last rank leaves so, without MPI_Finalize. rank_0_first,
// rank_0_last: rank 0 ends seconds before or after the others, with no communication at the
// end.
#include <signal.h>

#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* how = argv[3];
  FILE* out = open_output(argv[2], rank);
  list_and_read(out, argv[1]);
  fclose(out);
  if (strncmp(how, "rank_0", 6) == 0) {
    if ((rank == 0) == (strcmp(how, "rank_0_last") == 0)) sleep(3);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
      if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
      if (strcmp(how, "crash") == 0) abort();
      if (strcmp(how, "exit") == 0) _exit(0);
      if (strcmp(how, "kill") == 0) raise(SIGKILL);
    }
    if (strcmp(how, "exit") != 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
