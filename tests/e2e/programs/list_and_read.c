// An ordinary analysis program in C: it lists a directory, reads every file that it sees, and
// writes what it listed and read to OUT/rank-N. It divides nothing and knows of no cache.
#include "frame_reading.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* out = open_output(argv[2], rank);

  DIR* stream = opendir(argv[1]);
  if (!stream) fail(argv[1]);
  struct dirent* entry;
  while ((entry = readdir(stream))) {
    if (!is_name(entry)) continue;
    fprintf(out, "list %s\n", entry->d_name);
    read_file(out, argv[1], entry->d_name);
  }
  closedir(stream);
  if (fclose(out) != 0) fail(argv[2]);
  MPI_Finalize();
  return 0;
}
