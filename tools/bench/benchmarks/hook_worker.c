/* The program of `zazen-bench hook`: when this rank called MPI_Init, when it came back, how
 * much processor time the process has used by then, and when it had opened the frame that it is
 * given. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  double began = seconds(CLOCK_MONOTONIC);
  MPI_Init(&argc, &argv);
  double ended = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  close(open(argv[1], O_RDONLY));
  printf("%d %.9f %.9f %.9f %.9f\n", rank, began, ended, used, seconds(CLOCK_MONOTONIC));
  MPI_Finalize();
  return 0;
}
