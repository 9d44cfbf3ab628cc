// sum_frames HOW DIRECTORY FRAMES: adds up a figure of each frame that the ranks read, and rank
// 0 prints the sum.
//   list      every rank reads every frame that it sees
//   divide    rank r of n reads every n-th frame that it sees, from the r-th on
//   scatter   rank 0 lists, and hands out the names
//   by_name   nobody lists: the frames f0, f1, ... are opened by their names, in turn
#include "frame_reading.h"

enum { kNameSize = 256, kMostFrames = 1000 };

static char names[kMostFrames][kNameSize];

static int list_frames(const char* directory) {
  struct dirent** entries;
  int count = list(directory, &entries), frames = 0;
  for (int i = 0; i < count && frames < kMostFrames; ++i) {
    const char* name = entries[i]->d_name;
    if (name[0] != 'f' || name[1] == '\0' || strspn(name + 1, "0123456789") != strlen(name + 1))
      continue;
    if (name[1] == '0' && name[2] != '\0') continue;
    snprintf(names[frames++], kNameSize, "%s", name);
  }
  return frames;
}

static unsigned long figure_of(const char* directory, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE* file = fopen(path, "rb");
  if (!file) fail(path);
  unsigned long adler = 1, size = 0;
  unsigned char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0; size += got)
    adler = adler_update(adler, buffer, got);
  fclose(file);
  return adler + size;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argv[1], *directory = argv[2];
  int frames = atoi(argv[3]), step = size, first = rank;
  if (strcmp(how, "list") == 0) {
    frames = list_frames(directory);
    first = 0;
    step = 1;
  } else if (strcmp(how, "divide") == 0) {
    frames = list_frames(directory);
  } else if (strcmp(how, "scatter") == 0) {
    if (rank == 0) frames = list_frames(directory);
    MPI_Bcast(&frames, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(names, sizeof names, MPI_CHAR, 0, MPI_COMM_WORLD);
  } else {
    for (int i = 0; i < frames; ++i) snprintf(names[i], kNameSize, "f%d", i);
  }
  unsigned long mine = 0, sum = 0;
  for (int i = first; i < frames; i += step) mine += figure_of(directory, names[i]);
  MPI_Reduce(&mine, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("result %lu\n", sum);
  // Open MPI 4.1's mpirun may hang or crash if a job is aborted while a rank is in
  // MPI_Finalize.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
