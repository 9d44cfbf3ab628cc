// An MPI whose rank LATE_RANK comes out of MPI_Init three seconds after the others.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Init(int* argc, char*** argv) {
  int code = PMPI_Init(argc, argv);
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == atoi(getenv("LATE_RANK"))) sleep(3);
  return code;
}
