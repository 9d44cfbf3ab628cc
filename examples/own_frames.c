/* Each process asks which frames it should read, and reads them: no list, no scattering.
 *
 *   mpicc own_frames.c -o own_frames $(pkg-config --cflags --libs zazen-openmpi)
 *   mpirun -n 8 zazenctl run -- ./own_frames /sim1 0 999 1
 *
 * The frames here are named f0, f1, ... Under `zazenctl run` they come from the node's cache.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <zazen.h>

static void read_frame(const char* directory, unsigned long long seq, long* bytes) {
  char path[4096], buffer[65536];
  snprintf(path, sizeof path, "%s/f%llu", directory, seq);
  FILE* frame = fopen(path, "rb");
  if (frame == NULL) return; /* the range may have holes */
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, frame)) > 0) *bytes += (long)got;
  fclose(frame);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) {
    if (rank == 0) fprintf(stderr, "usage: own_frames DIRECTORY BEGIN END STRIDE\n");
    MPI_Finalize();
    return 2;
  }
  bodhi* cache = bodhi_open(NULL); /* NULL if there is none; zazen() works all the same */
  zazen_bitmap* own = zazen(cache, argv[1], strtoull(argv[2], NULL, 10),
                            strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
  if (own == NULL) {
    /* On all ranks alike. No MPI_Abort: some launchers then throw away what was just printed.
     */
    fprintf(stderr, "rank %d: %s\n", rank, zazen_error());
    bodhi_close(cache);
    MPI_Finalize();
    return 1;
  }
  long bytes = 0;
  uint64_t seq;
  while (zazen_next(own, &seq)) {
    read_frame(argv[1], seq, &bytes);
    printf("rank %d frame %llu\n", rank, (unsigned long long)seq);
  }
  printf("rank %d count %llu bytes %ld\n", rank, (unsigned long long)zazen_count(own), bytes);
  zazen_free(own);
  bodhi_close(cache);
  MPI_Finalize();
  return 0;
}
