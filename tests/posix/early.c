/* A library whose constructor uses files, as allocators and language runtimes do. Preloaded
   before and after the shim, it runs before the shim's own constructor. */
#include <dirent.h>

#include "check.h"

__attribute__((constructor)) static void start(void) {
  const char* dir = getenv("EARLY_DIRECTORY");
  if (dir == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/f3", dir);
  struct stat st;
  struct statx x;
  int fd = open(path, O_RDONLY);
  int good = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 3000;
  close(fd);
  good += stat(path, &st) == 0 && st.st_size == 3000;
  good += statx(AT_FDCWD, path, 0, STATX_SIZE, &x) == 0 && x.stx_size == 3000;
  good += access(path, R_OK) == 0;
  FILE* stream = fopen(path, "r");
  good += stream != NULL && fclose(stream) == 0;
  DIR* directory = opendir(dir);
  good += directory != NULL && readdir(directory) != NULL && closedir(directory) == 0;
  struct dirent** names;
  int count = scandir(dir, &names, NULL, NULL);
  good += count > 0;
  for (int i = 0; i < count; ++i) free(names[i]);
  if (count >= 0) free(names);
  char line[32];
  int length = snprintf(line, sizeof line, "early %d of 7\n", good);
  if (write(STDOUT_FILENO, line, (size_t)length) < 0) abort();
}
