// A program that lists on rank 0 and scatters the names, one round after the other.
#include "frame_reading.h"

enum { kNameSize = 256 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  FILE* out = open_output(argv[2], rank);
  int frames = 0, rounds = 0;
  char* names = NULL;
  if (rank == 0) {
    struct dirent** entries;
    int count = list(argv[1], &entries);
    names = calloc((size_t)(count + size), kNameSize);
    for (int i = 0; i < count; ++i) {
      const char* name = entries[i]->d_name;
      if (name[1] == '\0' || strspn(name + 1, "0123456789") != strlen(name + 1)) continue;
      fprintf(out, "list %s\n", name);
      snprintf(names + (size_t)frames++ * kNameSize, kNameSize, "%s", name);
    }
    rounds = (frames + size - 1) / size;
  }
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    char mine[kNameSize];
    MPI_Scatter(names ? names + (size_t)round * (size_t)size * kNameSize : NULL, kNameSize,
                MPI_CHAR, mine, kNameSize, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (mine[0] != '\0') read_file(out, argv[1], mine);
  }
  fclose(out);
  MPI_Finalize();
  return 0;
}
