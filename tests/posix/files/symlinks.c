/* Changes of frames by way of symbolic links to them, whose own names are no frame's, or
   another frame's: what the frame's name shows afterwards. */
#include <spawn.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "check.h"

static const char* dir;

static const char* link_to(const char* frame) {
  static char name[64];
  snprintf(name, sizeof name, "link to %s", frame);
  unlink(join(dir, name));
  if (symlink(frame, join(dir, name)) != 0) printf("symlink: %s\n", strerrorname_np(errno));
  return join(dir, name);
}

static void read_back(const char* what, const char* frame) {
  struct stat st;
  stat(join(dir, frame), &st);
  int is_old = st.st_mtime < 1000000001; /* as it was made, or was set */
  printf("%s: mode %o size %lld mtime %lld ", what, st.st_mode, (long long)st.st_size,
         is_old ? (long long)st.st_mtime : -1LL);
  show_fd(frame, open(join(dir, frame), O_RDONLY));
}

static void write_to(const char* what, int fd, const char* frame) {
  ssize_t count = write(fd, what, strlen(what));
  close(fd);
  printf("%zd bytes ", count);
  read_back(what, frame);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  write_to("O_WRONLY", open(link_to("f3"), O_WRONLY), "f3");
  write_to("O_RDWR", open64(link_to("f4"), O_RDWR | O_APPEND), "f4");
  write_to("O_CREAT", openat(AT_FDCWD, link_to("f5"), O_CREAT | O_WRONLY, 0600), "f5");
  write_to("creat", creat(link_to("f6"), 0600), "f6");
  write_to("a link with a frame's name", open(join(dir, "f77"), O_WRONLY), "f7");

  FILE* stream = fopen(link_to("f8"), "r+");
  write_to("fopen", dup(fileno(stream)), "f8");
  fclose(stream);

  stream = freopen(link_to("f15"), "r+", fopen("/dev/null", "r"));
  write_to("freopen", dup(fileno(stream)), "f15");
  fclose(stream);

  /* The child writes its name there. */
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, link_to("f16"), O_WRONLY | O_TRUNC, 0);
  char* argv_of_child[] = {"echo", "spawned", NULL};
  pid_t child;
  int status = posix_spawnp(&child, "echo", &actions, NULL, argv_of_child, environ);
  waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  read_back("posix_spawn", "f16");

  /* Links whose names look like descriptors' in procfs, and procfs by other names. */
  char name[64];
  chdir(dir);
  symlink("f17", "17000");
  truncate("17000", 17);
  read_back("a number for a name", "f17");
  int number = open("f18", O_RDONLY);
  for (int i = 0; i < 3; ++i) {
    static const char* const spellings[] = {"//proc/self/fd/%d", "/./proc/self/fd/%d", "link"};
    snprintf(name, sizeof name, "/proc/self/fd/%d", number);
    unlink("link");
    symlink(name, "link");
    snprintf(name, sizeof name, spellings[i], number);
    write_to(spellings[i], open(name, O_WRONLY), "f18");
    truncate(name, 1000 - i);
    read_back("truncate", "f18");
    chmod(name, 0640 + i);
    read_back("chmod", "f18");
  }
  unlink("link");
  close(number);

  const struct timespec then[2] = {{5, 0}, {7, 0}};
  truncate(link_to("f9"), 5);
  utimensat(AT_FDCWD, link_to("f9"), then, 0);
  read_back("truncate", "f9");
  chmod(link_to("f10"), 0604);
  read_back("chmod", "f10");
  fchmodat(AT_FDCWD, link_to("f11"), 0606, 0);
  read_back("fchmodat", "f11");
  utimensat(AT_FDCWD, link_to("f12"), then, 0);
  read_back("utimensat", "f12");
  utimensat(AT_FDCWD, link_to("f13"), then, AT_SYMLINK_NOFOLLOW);
  read_back("utimensat of the link itself", "f13");
  char value[8];
  setxattr(link_to("f14"), "user.test", "value", 5, 0);
  int fd = open(join(dir, "f14"), O_RDONLY);
  printf("setxattr: %zd\n", fgetxattr(fd, "user.test", value, sizeof value));
  close(fd);
  return 0;
}
