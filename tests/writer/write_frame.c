// write_frame WAY FILE [GO]: writes a frame in one of the ways that programs have, as any
// program would. Those that are called held- write one half, make the file GO.held, and write
// the other half when there is a file GO.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kHalf = 30000 };

static char text[2 * kHalf];
static const char *file, *go;
extern char** environ;

static int check(int result) {
  if (result >= 0) return result;
  fprintf(stderr, "write_frame %s: %s\n", file, strerror(errno));
  exit(1);
}

static void put(int fd, int half) {
  for (int done = 0; done < kHalf;) {
    done += check((int)write(fd, text + half * kHalf + done, (size_t)(kHalf - done)));
  }
}

static void put_all(int fd) {
  put(fd, 0);
  put(fd, 1);
}

static void hold(void) {
  char held[4096];
  snprintf(held, sizeof held, "%s.held", go);
  check(close(check(open(held, O_WRONLY | O_CREAT, 0600))));
  while (access(go, F_OK) != 0) usleep(5000);
}

static void name_beside(char* out, size_t size, const char* suffix) {
  snprintf(out, size, "%s%s", file, suffix);
}

static int make(int flags) {
  return check(open(file, flags | O_CREAT, 0644));
}

static void by_open(void) {
  int fd = make(O_WRONLY | O_TRUNC);
  put_all(fd);
  check(close(fd));
}

static void by_new_file(void) {
  int fd = make(O_WRONLY | O_EXCL);
  put_all(fd);
  check(close(fd));
}

static void by_creat(void) {
  int fd = check(creat(file, 0644));
  put_all(fd);
  check(close(fd));
}

static void by_stdio(void) {
  FILE* stream = fopen(file, "w");
  if (stream == NULL || fwrite(text, 1, sizeof text, stream) != sizeof text) check(-1);
  check(fclose(stream));
}

static void by_syscall(void) {
  struct open_how how = {
      .flags = O_WRONLY | O_CREAT, .mode = 0644, .resolve = RESOLVE_NO_SYMLINKS};
  int fd = check((int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof how));
  put_all(fd);
  check((int)syscall(SYS_close, fd));
}

static void by_link(void) {
  char directory[4096], link[64];
  snprintf(directory, sizeof directory, "%s", file);
  *strrchr(directory, '/') = '\0';
  int fd = check(open(directory, O_TMPFILE | O_WRONLY, 0644));
  put_all(fd);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  check(linkat(AT_FDCWD, link, AT_FDCWD, file, AT_SYMLINK_FOLLOW));
  check(close(fd));
}

static void by_rename(void) {
  char other[4096];
  name_beside(other, sizeof other, ".part");
  int fd = check(open(other, O_WRONLY | O_CREAT, 0644));
  put_all(fd);
  check(close(fd));
  check(rename(other, file));
}

// The name is there before, with other content.
static void by_exchange(void) {
  char other[4096];
  name_beside(other, sizeof other, ".part");
  check(close(make(O_WRONLY)));
  int fd = check(open(other, O_WRONLY | O_CREAT, 0644));
  put_all(fd);
  check(close(fd));
  check(renameat2(AT_FDCWD, other, AT_FDCWD, file, RENAME_EXCHANGE));
  check(unlink(other));
}

static void by_symlink(void) {
  char link[4096];
  name_beside(link, sizeof link, ".link");
  check(close(make(O_WRONLY)));
  check(symlink(file, link));
  int fd = check(open(link, O_WRONLY));
  put_all(fd);
  check(close(fd));
  check(unlink(link));
}

static void by_spawned_child(void) {
  posix_spawn_file_actions_t actions;
  char* argv[] = {(char*)"cat", (char*)"/proc/self/exe", NULL};
  pid_t child;
  int status;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (posix_spawnp(&child, "cat", &actions, NULL, argv, environ) != 0) check(-1);
  check(waitpid(child, &status, 0));
}

static void by_exit(void) {
  put_all(make(O_WRONLY));
  _exit(0);
}

static void by_appending(void) {
  int fd = make(O_WRONLY);
  put(fd, 0);
  check(close(fd));
  fd = check(open(file, O_WRONLY | O_APPEND));
  put(fd, 1);
  check(close(fd));
}

static void by_truncating(void) {
  by_open();
  check(truncate(file, 12345));
}

static void held_open(void) {
  int fd = make(O_RDWR);
  put(fd, 0);
  hold();
  put(fd, 1);
  check(close(fd));
}

static void held_by_stdio(void) {
  FILE* stream = fopen(file, "w");
  if (stream == NULL || fwrite(text, 1, kHalf, stream) != kHalf) check(-1);
  fflush(stream);
  hold();
  if (fwrite(text + kHalf, 1, kHalf, stream) != kHalf) check(-1);
  check(fclose(stream));
}

static void held_by_second_number(void) {
  int fd = make(O_WRONLY);
  put(fd, 0);
  int second = check(dup(fd));
  check(close(fd));
  hold();
  put(second, 1);
  check(close(second));
}

static void held_by_child(void) {
  int fd = make(O_WRONLY);
  put(fd, 0);
  if (check(fork()) > 0) {
    check(close(fd));
    _exit(0);
  }
  hold();
  put(fd, 1);
  check(close(fd));
}

static void held_by_mapping(void) {
  int fd = make(O_RDWR);
  check(ftruncate(fd, sizeof text));
  char* map = mmap(NULL, sizeof text, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) check(-1);
  check(close(fd));
  memcpy(map, text, kHalf);
  hold();
  memcpy(map + kHalf, text + kHalf, kHalf);
  check(munmap(map, sizeof text));
}

static const struct {
  const char* name;
  void (*run)(void);
} ways[] = {
    {"open", by_open},
    {"new-file", by_new_file},
    {"creat", by_creat},
    {"stdio", by_stdio},
    {"syscall", by_syscall},
    {"link", by_link},
    {"rename", by_rename},
    {"exchange", by_exchange},
    {"symlink", by_symlink},
    {"spawned-child", by_spawned_child},
    {"exit", by_exit},
    {"appending", by_appending},
    {"truncating", by_truncating},
    {"held-open", held_open},
    {"held-by-stdio", held_by_stdio},
    {"held-by-second-number", held_by_second_number},
    {"held-by-child", held_by_child},
    {"held-by-mapping", held_by_mapping},
};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  file = argv[2];
  go = argc > 3 ? argv[3] : "";
  unsigned state = 1;
  for (const char* c = file; *c != '\0'; ++c) state = state * 31 + (unsigned char)*c;
  for (size_t i = 0; i < sizeof text; ++i) {
    state = state * 1103515245 + 12345;
    text[i] = (char)(state >> 16);
  }
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(ways[i].name, argv[1]) != 0) continue;
    ways[i].run();
    return 0;
  }
  return 2;
}
