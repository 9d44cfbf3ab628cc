/* fopen and freopen, by the modes that people use. */
#include "check.h"

static void show(const char* what, FILE* stream) {
  if (stream == NULL) {
    printf("%s: %s\n", what, strerrorname_np(errno));
    return;
  }
  unsigned char buffer[700];
  uint64_t sum = 14695981039346656037ULL;
  size_t got, bytes = 0;
  while ((got = fread(buffer, 1, sizeof buffer, stream)) > 0) {
    sum = checksum(sum, buffer, got);
    bytes += got;
  }
  int fd = fileno(stream);
  printf("%s: fd %d flags %o cloexec %d bytes %zu sum %016llx eof %d error %d\n", what, fd,
         fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), bytes, (unsigned long long)sum,
         feof(stream) != 0, ferror(stream) != 0);
  fclose(stream);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* dir = argv[1];
  const char* f5 = join(dir, "f5");
  show("r", fopen(f5, "r"));
  show("rb", fopen(f5, "rb"));
  show("fopen64", fopen64(f5, "r"));
  show("re", fopen(f5, "re"));
  show("rm", fopen(f5, "rm"));
  show("ccs", fopen(join(dir, "notes.txt"), "r,ccs=UTF-8"));
  show("empty", fopen(join(dir, "f0"), "r"));
  show("missing", fopen(join(dir, "f999"), "r"));
  show("bad mode", fopen(f5, "q"));
  show("empty mode", fopen(f5, ""));
  show("null path", fopen((const char*)(intptr_t)0, "r"));
  show("directory", fopen(dir, "r"));
  show("r+", fopen(f5, "r+"));

  FILE* stream = fopen(f5, "r");
  fseek(stream, 1000, SEEK_SET);
  int c = getc(stream);
  ungetc(c, stream);
  printf("at %ld\n", ftell(stream));
  fseek(stream, -1, SEEK_END);
  printf("at %ld last %d write %d\n", ftell(stream), getc(stream) >= 0,
         putc('x', stream) == EOF);
  fclose(stream);

  stream = freopen(join(dir, "f4"), "r", stdin);
  show("freopen", stream);
  stream = fopen(f5, "r");
  show("freopen64", freopen64(join(dir, "f2"), "r", stream));
  stream = fopen(f5, "r");
  show("freopen missing", freopen(join(dir, "f999"), "r", stream));
  return 0;
}
