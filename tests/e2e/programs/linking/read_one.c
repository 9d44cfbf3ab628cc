/* Reads the file that it is told. Linked in several ways, for doctor. */
#include <fcntl.h>
#include <unistd.h>

#ifdef LOOKS_LIKE_GO
__attribute__((section(".go.buildinfo"), used)) static const char info[] = "Go buildinf:";
#endif

int main(int argc, char** argv) {
  char buffer[4096];
  int fd = argc < 2 ? -1 : open(argv[1], O_RDONLY);
  if (fd < 0) return 1;
  while (read(fd, buffer, sizeof buffer) > 0) {
  }
  return 0;
}
