// An MPI in which rank HOLD_RANK stands still for HOLD_SECONDS, once, at the point HOLD_AT:
//   init      it has left the real MPI_Init, and has sent nothing since
//   begun     it has begun to duplicate a communicator
//   between   it begins the first collective after that
// HOLD_SECONDS=dead: it is killed there.
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void hold_up(const char* point) {
  static int held;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (held || strcmp(getenv("HOLD_AT"), point) != 0 || rank != atoi(getenv("HOLD_RANK")))
    return;
  held = 1;
  if (strcmp(getenv("HOLD_SECONDS"), "dead") == 0) raise(SIGKILL);
  struct timespec time = {atoi(getenv("HOLD_SECONDS")), 0};
  nanosleep(&time, NULL);
}

int MPI_Init(int* argc, char*** argv) {
  int code = PMPI_Init(argc, argv);
  hold_up("init");
  return code;
}

// The plug-in calls these by their profiling names; the real ones come next.
static int duplicates;

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
  int (*real)(MPI_Comm, MPI_Comm*, MPI_Request*) = dlsym(RTLD_NEXT, "PMPI_Comm_idup");
  int code = real(comm, copy, request);
  ++duplicates;
  hold_up("begun");
  return code;
}

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  int (*real)(MPI_Comm, MPI_Request*) = dlsym(RTLD_NEXT, "PMPI_Ibarrier");
  if (duplicates > 0) hold_up("between");
  return real(comm, request);
}

int PMPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  int (*real)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*) =
      dlsym(RTLD_NEXT, "PMPI_Iallreduce");
  if (duplicates > 0) hold_up("between");
  return real(in, out, count, type, op, comm, request);
}
