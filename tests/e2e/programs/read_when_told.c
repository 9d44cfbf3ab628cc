/* Says that it runs, waits for its standard input to end, then opens, reads and closes the
   files that it is told, and says how many bytes there were and their sum. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  unsigned char buffer[65536];
  unsigned long bytes = 0, sum = 0;
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
  }
  for (int i = 1; i < argc; ++i) {
    int fd = open(argv[i], O_RDONLY);
    ssize_t got;
    if (fd < 0) return 1;
    while ((got = read(fd, buffer, sizeof buffer)) > 0) {
      bytes += (unsigned long)got;
      for (ssize_t k = 0; k < got; ++k) sum += buffer[k];
    }
    if (got < 0) return 1;
    close(fd);
  }
  printf("%lu %lu\n", bytes, sum);
  return 0;
}
