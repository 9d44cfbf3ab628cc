// Lists, reads every second file, waits for OUT/go, lists again, and reads the rest.
//
// It makes OUT/ready-N when it waits, and writes the second listing as "again" lines. Something
// may happen to the daemons or to the directory while it waits.
#include "frame_reading.h"

static void wait_for_go(const char* directory, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s/ready-%d", directory, rank);
  FILE* ready = fopen(path, "w");
  if (!ready) fail(path);
  fclose(ready);
  snprintf(path, sizeof path, "%s/go", directory);
  for (int i = 0; access(path, F_OK) != 0; ++i) {
    if (i > 5000) MPI_Abort(MPI_COMM_WORLD, 3);
    usleep(10000);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* out = open_output(argv[2], rank);
  struct dirent **names, **again;
  int count = list(argv[1], &names);
  for (int i = 0; i < count; ++i) fprintf(out, "list %s\n", names[i]->d_name);
  for (int i = 0; i < count; i += 2) read_file(out, argv[1], names[i]->d_name);
  wait_for_go(argv[2], rank);
  int count_again = list(argv[1], &again);
  for (int i = 0; i < count_again; ++i) fprintf(out, "again %s\n", again[i]->d_name);
  for (int i = 1; i < count; i += 2) read_file(out, argv[1], names[i]->d_name);
  fclose(out);
  MPI_Finalize();
  return 0;
}
