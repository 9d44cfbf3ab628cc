// Starts MPI in the way that argv[3] names, then lists and reads: init, init_thread, library
// (which calls MPI_Init for the program), never (the rank's number comes from the launcher),
// session (MPI_Session_init and no MPI_Init), session_first (then MPI_Init).
#include "frame_reading.h"

void start_mpi(void);
void end_mpi(void);

static int rank_of_launcher(void) {
  const char* rank = getenv("PMI_RANK");
  if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) fail("no launcher");
  return atoi(rank);
}

int main(int argc, char** argv) {
  const char* how = argv[3];
  int with_session = strncmp(how, "session", 7) == 0;
  int with_world = 1, provided;
#if MPI_VERSION >= 4
  MPI_Session session;
  if (with_session) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
#else
  if (with_session) fail("this MPI has no sessions");
#endif
  if (strcmp(how, "init") == 0 || strcmp(how, "session_first") == 0)
    MPI_Init(&argc, &argv);
  else if (strcmp(how, "init_thread") == 0)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else if (strcmp(how, "library") == 0)
    start_mpi();
  else
    with_world = 0;

  int rank = rank_of_launcher();
  if (with_world) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* out = open_output(argv[2], rank);
  list_and_read(out, argv[1]);
  fclose(out);

  if (strcmp(how, "library") == 0)
    end_mpi();
  else if (with_world)
    MPI_Finalize();
#if MPI_VERSION >= 4
  if (with_session) MPI_Session_finalize(&session);
#endif
  return 0;
}
