/* Makes a trajectory to play with: DIRECTORY/frame-000000.xyz and so on, one file per frame,
 * of a chain of 200 atoms that wriggles, and a topology.txt beside them. The seed is fixed,
 * so the same command makes the same bytes everywhere. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { kAtoms = 200 };
static const double kBondLength = 3.8; /* between the C-alpha atoms of a protein, in Angstrom */

static double random_unit(void) { /* in [-1, 1) */
  static uint64_t state = 20100223;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 11) / 4503599627370496.0 - 1.0;
}

/* Moves each bond a little, then lays the chain out again from its first atom. */
static void wriggle(double bonds[kAtoms][3], double atoms[kAtoms][3], double amount) {
  for (int i = 1; i < kAtoms; ++i) {
    double length = 0;
    for (int k = 0; k < 3; ++k) {
      bonds[i][k] += amount * random_unit();
      length += bonds[i][k] * bonds[i][k];
    }
    length = sqrt(length);
    for (int k = 0; k < 3; ++k) {
      bonds[i][k] *= kBondLength / length;
      atoms[i][k] = atoms[i - 1][k] + bonds[i][k];
    }
  }
}

static FILE* open_or_exit(const char* directory, const char* name) {
  char path[PATH_MAX];
  FILE* file = NULL;
  int length = snprintf(path, sizeof path, "%s/%s", directory, name);
  if (length > 0 && (size_t)length < sizeof path) file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "make_trajectory: error: %s: %s\n", path, strerror(errno));
    exit(1);
  }
  return file;
}

static void close_or_exit(FILE* file) {
  if (fclose(file) == 0) return;
  fprintf(stderr, "make_trajectory: error: a file could not be written: %s\n", strerror(errno));
  exit(1);
}

int main(int argc, char** argv) {
  char* end = NULL;
  long frames = argc == 3 ? strtol(argv[2], &end, 10) : -1;
  if (frames < 0 || frames > 999999 || end == argv[2] || *end != '\0') {
    fprintf(stderr, "usage: make_trajectory DIRECTORY FRAMES\n");
    return 2;
  }
  if (mkdir(argv[1], 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "make_trajectory: error: %s: %s\n", argv[1], strerror(errno));
    return 1;
  }

  FILE* topology = open_or_exit(argv[1], "topology.txt");
  fprintf(topology, "a chain of %d C-alpha atoms, bonds of %.1f Angstrom\n", kAtoms,
          kBondLength);
  close_or_exit(topology);

  static double bonds[kAtoms][3], atoms[kAtoms][3];
  wriggle(bonds, atoms, 1.0);
  for (long frame = 0; frame < frames; ++frame) {
    char name[32];
    snprintf(name, sizeof name, "frame-%06ld.xyz", frame);
    FILE* file = open_or_exit(argv[1], name);
    fprintf(file, "%d\nframe %ld\n", kAtoms, frame);
    for (int i = 0; i < kAtoms; ++i) {
      fprintf(file, "CA %.3f %.3f %.3f\n", atoms[i][0], atoms[i][1], atoms[i][2]);
    }
    close_or_exit(file);
    wriggle(bonds, atoms, 0.2);
  }
  return 0;
}
