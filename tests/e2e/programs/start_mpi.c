// A library that starts and ends MPI for a program that calls neither function itself.
#include <mpi.h>
#include <stddef.h>

void start_mpi(void) {
  MPI_Init(NULL, NULL);
}

void end_mpi(void) {
  MPI_Finalize();
}
