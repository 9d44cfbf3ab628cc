// An MPI whose rank LATE_RANK comes out of MPI_Init LATE_SECONDS after the others. Before the
// end all ranks add up in the background: if they have got out of step, the sum is wrong or
// never comes.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Init(int* argc, char*** argv) {
  int code = PMPI_Init(argc, argv);
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == atoi(getenv("LATE_RANK"))) sleep((unsigned)atoi(getenv("LATE_SECONDS")));
  return code;
}

int MPI_Finalize(void) {
  int ranks = 0, one = 1, sum = 0;
  MPI_Request request;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != ranks) abort();
  return PMPI_Finalize();
}
