/* Each call on the smallest stack that a thread can have: it must not take much more than
   without the shim. A page that nobody may touch lies below. */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include "check.h"

enum { kStack = 16384 };

static char frame[4096], other[4096], link_to_fd[64];
static int fd, out;

static void say(const char* what, long result) {
  char line[128];
  int length = 0;
  while (what[length] != '\0') line[length] = what[length], ++length;
  line[length++] = ' ';
  line[length++] = result < 0 ? '-' : '+';
  line[length++] = '\n';
  (void)!write(out, line, (size_t)length);
}

static int close_if(int opened) {
  if (opened >= 0) close(opened);
  return opened;
}

static void* call_everything(void* unused) {
  struct stat st;
  struct statx stx;
  static char text[4096], value[64];
  say("open", close_if(open(frame, O_RDONLY)));
  say("open relative", close_if(open("f4", O_RDONLY)));
  say("stat", stat(frame, &st));
  say("lstat relative", lstat("f4", &st));
  say("fstat", fstat(fd, &st));
  say("statx", statx(AT_FDCWD, "f4", 0, STATX_BASIC_STATS, &stx));
  say("access", access(frame, R_OK));
  say("access for writing", access("f4", W_OK));
  say("readlink", readlink(link_to_fd, text, sizeof text));
  say("reopen", close_if(open(link_to_fd, O_RDONLY)));
  say("reopen for writing", close_if(open(link_to_fd, O_RDWR)));
  say("fchmod", fchmod(fd, 0640));
  say("fgetxattr", fgetxattr(fd, "user.none", value, sizeof value));
  say("open for writing", close_if(open(frame, O_RDWR)));
  say("other for writing", close_if(open(other, O_RDWR | O_CREAT, 0600)));
  say("truncate", truncate(frame, 100));
  say("chmod", chmod(frame, 0600));
  say("rename", rename(frame, other));
  say("unlink", unlink(other));
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  snprintf(frame, sizeof frame, "%s/f5", argv[1]);
  snprintf(other, sizeof other, "%s/../other/note", argv[1]);
  out = dup(STDOUT_FILENO);
  fd = open("f6", O_RDONLY);
  snprintf(link_to_fd, sizeof link_to_fd, "/proc/self/fd/%d", fd);
  char* memory =
      mmap(NULL, kStack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 4096, PROT_NONE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory + 4096, kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, call_everything, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 0;
}
