// A program that adds up, meets and duplicates its world in the background, right after
// MPI_Init, and then lists and reads. If the ranks are out of step, a sum is wrong or never
// comes.
#include "frame_reading.h"

enum { kRounds = 4 };

static void check(int is, int should, const char* what) {
  if (is == should) return;
  fprintf(stderr, "wrong: %s is %d, not %d\n", what, is, should);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  for (int round = 0; round < kRounds; ++round) {
    int mine = rank + round, sum = -1, largest = -1, copied = -1;
    MPI_Comm copy;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[2]);
    MPI_Iallreduce(&mine, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    check(sum, size * (size - 1) / 2 + size * round, "the sum");
    check(largest, size - 1 + round, "the maximum");
    MPI_Iallreduce(&mine, &copied, 1, MPI_INT, MPI_SUM, copy, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check(copied, sum, "the sum on the duplicate");
    MPI_Comm_free(&copy);
  }

  FILE* out = open_output(argv[2], rank);
  list_and_read(out, argv[1]);
  if (fclose(out) != 0) fail(argv[2]);
  MPI_Finalize();
  return 0;
}
