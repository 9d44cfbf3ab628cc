/* fopen and freopen, by the modes that people use. */
#include <wchar.h>

#include "check.h"

FILE* _IO_fopen(const char*, const char*);

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

static void show_wide(const char* what, FILE* stream) {
  if (stream == NULL) {
    printf("%s: %s\n", what, strerrorname_np(errno));
    return;
  }
  uint64_t sum = 0;
  size_t count = 0;
  for (wint_t c; (c = fgetwc(stream)) != WEOF; ++count) {
    sum = checksum(sum, (const unsigned char*)&c, sizeof c);
  }
  printf("%s: fd %d cloexec %d count %zu sum %016llx error %d\n", what, fileno(stream),
         fcntl(fileno(stream), F_GETFD), count, (unsigned long long)sum, ferror(stream) != 0);
  fclose(stream);
}

/* The stream keeps its number if it has one, or gets the lowest that is free. */
static void reopens(const char* dir) {
  const char* f6 = join(dir, "f6"); /* nobody wrote to it: there is a copy */
  FILE* stream = fopen("/dev/null", "r");
  FILE* other = fopen("/dev/null", "r");
  show("reopened below another", freopen(f6, "rb", stream));
  stream = fopen("/dev/null", "r");
  show("cloexec", freopen(f6, "re", stream));
  stream = fopen("/dev/null", "w");
  show_wide("ccs", freopen(f6, "r,ccs=ISO-8859-1", stream));
  stream = fopen("/dev/null", "r");
  close(fileno(stream));
  show("number closed before", freopen(f6, "r", stream));
  stream = fopen("/dev/null", "r");
  close(fileno(stream));
  int taken = open("/dev/zero", O_RDONLY);
  show("number taken by another", freopen(f6, "r", stream));
  printf("taken %d\n", fcntl(taken, F_GETFD));
  FILE* lower = fopen("/dev/null", "r");
  stream = fopen("/dev/null", "r");
  fclose(lower);
  show("lower number free", freopen(f6, "r", stream));
  lower = fopen("/dev/null", "r");
  stream = fopen("/dev/null", "r");
  fclose(lower);
  close(fileno(stream));
  show("lower number free, own one closed before", freopen(f6, "r", stream));
  stream = fopen(f6, "r");
  fgetc(stream);
  show("onto itself", freopen(f6, "r", stream));
  stream = fopen("/dev/null", "r");
  show("without a name", freopen(NULL, "r", stream));
  stream = fopen(f6, "r");
  fgetc(stream);
  show("frame without a name", freopen(NULL, "r", stream));
  stream = fopen("/dev/null", "r");
  show("bad mode", freopen(f6, "q", stream));
  stream = fopen("/dev/null", "r");
  show_wide("bad ccs", freopen(f6, "r,ccs=none", stream));
  stream = fopen("/dev/null", "w");
  errno = ENOTTY;
  stream = freopen(f6, "r", stream);
  printf("errno %s\n", strerrorname_np(errno));
  printf("next number %d\n", dup(fileno(stream)));
  fclose(stream);
  fclose(other);
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
  show("_IO_fopen", _IO_fopen(f5, "r"));
  show_wide("ccs of a frame", fopen(f5, "r,ccs=ISO-8859-1"));
  show_wide("ccs, cloexec", fopen64(f5, "re,ccs=ISO-8859-1"));
  show_wide("ccs that is none", fopen(f5, "r,ccs=none"));
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
  reopens(dir);
  return 0;
}
