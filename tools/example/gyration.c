/* The radius of gyration of every frame of a trajectory: an ordinary MPI program, as a
 * chemist might write it. It lists the directory and reads each frame file that it sees;
 * it divides nothing among the ranks. Rank 0 prints how many frames each rank saw and read,
 * and the mean, and writes one line per frame, sorted by name, to RESULTS.
 * Without mpirun it is a serial program. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNameSize = 56 };

typedef struct {
  char name[kNameSize];
  double radius;
} Result;

static void give_up(const char* subject, const char* reason) {
  fprintf(stderr, "gyration: error: %s: %s\n", subject, reason);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int by_name(const void* a, const void* b) {
  return strcmp(((const Result*)a)->name, ((const Result*)b)->name);
}

static int is_frame(const char* name) {
  size_t length = strlen(name);
  return length > 4 && length < kNameSize && strcmp(name + length - 4, ".xyz") == 0;
}

/* The frames in the directory, sorted by name. */
static int list_frames(const char* directory, Result** frames) {
  DIR* stream = opendir(directory);
  if (stream == NULL) give_up(directory, strerror(errno));
  int count = 0, capacity = 0;
  *frames = NULL;
  for (struct dirent* entry; (entry = readdir(stream)) != NULL;) {
    if (!is_frame(entry->d_name)) continue;
    if (count == capacity) {
      capacity = capacity == 0 ? 256 : capacity * 2;
      *frames = realloc(*frames, (size_t)capacity * sizeof **frames);
      if (*frames == NULL) give_up(directory, "out of memory");
    }
    memset(&(*frames)[count], 0, sizeof **frames);
    strcpy((*frames)[count++].name, entry->d_name);
  }
  closedir(stream);
  if (count > 0) qsort(*frames, (size_t)count, sizeof **frames, by_name);
  return count;
}

/* The root of the mean square distance from the centre. */
static double radius_of_gyration(const char* directory, const char* name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE* file = fopen(path, "r");
  if (file == NULL) give_up(path, strerror(errno));

  char count[32], comment[256];
  if (fgets(count, sizeof count, file) == NULL ||
      fgets(comment, sizeof comment, file) == NULL) {
    give_up(path, "cut short");
  }
  int atoms = atoi(count);
  if (atoms <= 0) give_up(path, "not a frame");
  double sum[3] = {0, 0, 0}, squares = 0;
  for (int i = 0; i < atoms; ++i) {
    double x[3];
    if (fscanf(file, "%*s %lf %lf %lf", &x[0], &x[1], &x[2]) != 3) give_up(path, "cut short");
    for (int k = 0; k < 3; ++k) {
      sum[k] += x[k];
      squares += x[k] * x[k];
    }
  }
  fclose(file);
  double centre = (sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / atoms / atoms;
  return sqrt(squares / atoms - centre);
}

static void write_results(const char* path, const Result* results, int count) {
  FILE* file = fopen(path, "w");
  if (file == NULL) give_up(path, strerror(errno));
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    fprintf(file, "%s %.17g\n", results[i].name, results[i].radius);
    sum += results[i].radius;
  }
  if (fclose(file) != 0) give_up(path, strerror(errno));
  printf("mean radius of gyration: %.17g over %d frames\n", count > 0 ? sum / count : 0.0,
         count);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) {
    if (rank == 0) fprintf(stderr, "usage: gyration DIRECTORY RESULTS\n");
    MPI_Finalize();
    return 2;
  }

  Result* mine;
  int seen = list_frames(argv[1], &mine), done = 0;
  for (; done < seen; ++done) {
    mine[done].radius = radius_of_gyration(argv[1], mine[done].name);
  }

  int counts[2] = {seen, done};
  int* all_counts = malloc((size_t)ranks * sizeof counts);
  int* sizes = malloc((size_t)ranks * sizeof *sizes);
  int* places = malloc((size_t)ranks * sizeof *places);
  if (all_counts == NULL || sizes == NULL || places == NULL) give_up("counts", "out of memory");
  MPI_Gather(counts, 2, MPI_INT, all_counts, 2, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    printf("rank %d: saw %d frames, read %d\n", i, all_counts[2 * i], all_counts[2 * i + 1]);
    places[i] = total * (int)sizeof(Result);
    sizes[i] = all_counts[2 * i] * (int)sizeof(Result);
    total += all_counts[2 * i];
  }
  Result* all = malloc((size_t)(total + 1) * sizeof *all);
  if (all == NULL) give_up("results", "out of memory");
  MPI_Gatherv(mine, seen * (int)sizeof(Result), MPI_BYTE, all, sizes, places, MPI_BYTE, 0,
              MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(all, (size_t)total, sizeof *all, by_name);
    write_results(argv[2], all, total);
  }

  free(all);
  free(places);
  free(sizes);
  free(all_counts);
  free(mine);
  MPI_Finalize();
  return 0;
}
