/* A library that opens a frame when it is loaded and when it is unloaded. */
#include "check.h"

static void look(const char* when) {
  const char* dir = getenv("OPENER_DIRECTORY");
  if (dir == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/f4", dir);
  struct stat st = {0};
  int result = stat(path, &st);
  printf("%s: stat %d size %ld\n", when, result, (long)st.st_size);
  show_fd(when, open(path, O_RDONLY));
  FILE* stream = fopen(path, "r");
  printf("%s: stream %d\n", when, stream != NULL && fgetc(stream) >= 0 && fclose(stream) == 0);
}

__attribute__((constructor)) static void start(void) {
  look("constructor");
}
__attribute__((destructor)) static void end(void) {
  look("destructor");
}
