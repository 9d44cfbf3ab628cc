/* A simulation that writes its frames to the shared file system, and has each pushed to a node
 * of the analysis cluster while it goes on computing.
 *
 *   cc push_frames.c -o push_frames $(pkg-config --cflags --libs bodhi)
 *   ZAZEN_CONFIG=zazen.toml ./push_frames /sim1 100
 *
 * The frames here are named f0, f1, ... */
#include <bodhi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kAtoms = 10000 };

static int write_frame(const char* directory, unsigned long long seq, const float* atoms) {
  char path[4096];
  snprintf(path, sizeof path, "%s/f%llu", directory, seq);
  FILE* file = fopen(path, "wb");
  if (file == NULL) return -1;
  size_t put = fwrite(atoms, sizeof *atoms, kAtoms, file);
  return fclose(file) == 0 && put == kAtoms ? 0 : -1;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: push_frames DIRECTORY FRAMES\n");
    return 2;
  }
  bodhi* nodes = bodhi_open(NULL);
  if (nodes == NULL) fprintf(stderr, "no frames will be pushed: %s\n", bodhi_error());

  static float atoms[kAtoms];
  unsigned long long frames = strtoull(argv[2], NULL, 10);
  for (unsigned long long seq = 0; seq < frames; ++seq) {
    for (int i = 0; i < kAtoms; ++i) atoms[i] = (float)(seq * 0.5) + (float)i;
    if (write_frame(argv[1], seq, atoms) != 0) {
      perror(argv[1]);
      return 1;
    }
    /* Returns at once. A failure is no reason to stop: the frame is at the origin. */
    if (nodes != NULL && bodhi_write(nodes, argv[1], seq, atoms, sizeof atoms) != 0)
      fprintf(stderr, "frame %llu: %s\n", seq, bodhi_error());
  }

  if (nodes != NULL) {
    if (bodhi_flush(nodes, 60000) != 0) fprintf(stderr, "%s\n", bodhi_error());
    bodhi_writer_figures figures;
    bodhi_query_writer(nodes, &figures, sizeof figures);
    printf("pushed %llu dropped %llu\n", (unsigned long long)figures.pushed,
           (unsigned long long)figures.dropped);
    bodhi_node_figures node;
    for (size_t i = 0; bodhi_query_node(nodes, i, &node, sizeof node) == 0; ++i)
      printf("%s %llu\n", node.peer, (unsigned long long)node.pushed);
    bodhi_close(nodes);
  }
  return 0;
}
