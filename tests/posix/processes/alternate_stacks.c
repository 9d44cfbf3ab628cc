/* Each call in a signal handler that runs on an alternate stack of 8 KB, of which the kernel
   takes a part for the registers. Where it takes nearly all of that (AMX), the stack is larger,
   so that as much is left. A page that nobody may touch lies below. */
#include <dirent.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "check.h"

enum { kSmallest = 8192, kLeft = 4560, kLargest = 65536, kUntouched = 0x5a };

static char *stack, frame[4096], second[4096], third[4096], fourth[4096], missing[4096];
static char fifth[4096], sixth[4096], other[4096], notes[4096], link_to_fd[64];
static const char* dir;
static int fd, unnamed, step;
static long result;
static DIR* stream;

static long close_if(int opened) {
  if (opened >= 0) close(opened);
  return opened;
}

static void call_next(int unused) {
  static struct stat st;
  static struct statx stx;
  static char text[4096];
  (void)unused;
  switch (step) {
    case 0:
      result = close_if(open(frame, O_RDONLY));
      break;
    case 1:
      result = close_if(open("f4", O_RDONLY | O_CLOEXEC));
      break;
    case 2:
      result = close_if(open(missing, O_RDONLY));
      break;
    case 3:
      result = close_if(open(notes, O_RDONLY));
      break;
    case 4:
      result = stat(frame, &st);
      break;
    case 5:
      result = lstat("f4", &st);
      break;
    case 6:
      result = fstat(fd, &st);
      break;
    case 7:
      result = fstat(unnamed, &st);
      break;
    case 8:
      result = statx(AT_FDCWD, "f4", 0, STATX_BASIC_STATS, &stx);
      break;
    case 9:
      result = statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx);
      break;
    case 10:
      result = access(frame, R_OK);
      break;
    case 11:
      result = access("f4", W_OK);
      break;
    case 12:
      result = close_if((int)syscall(SYS_openat, AT_FDCWD, frame, O_RDONLY));
      break;
    case 13:
      result = readdir(stream) != NULL;
      break;
    case 14:
      result = close_if(open(dir, O_RDONLY | O_DIRECTORY));
      break;
    case 15:
      result = readlink(link_to_fd, text, sizeof text) > 0;
      break;
    case 16:
      result = fchmod(fd, 0640);
      break;
    case 17:
      result = fgetxattr(fd, "user.none", text, sizeof text);
      break;
    case 18:
      result = close_if(open(second, O_RDWR));
      break;
    case 19:
      result = close_if(open(other, O_RDWR | O_CREAT, 0600));
      break;
    case 20:
      result = truncate(third, 100);
      break;
    case 21:
      result = chmod(fourth, 0600);
      break;
    case 22:
      result = rename(fifth, sixth);
      break;
    case 23:
      result = unlink(sixth);
      break;
    default:
      result = -2;
  }
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  size_t size = getauxval(AT_MINSIGSTKSZ) + kLeft;
  if (size < kSmallest) size = kSmallest;
  if (size > kLargest) return 4;
  dir = argv[1];
  snprintf(frame, sizeof frame, "%s/f5", dir);
  snprintf(missing, sizeof missing, "%s/f999", dir);
  snprintf(notes, sizeof notes, "%s/notes.txt", dir);
  snprintf(second, sizeof second, "%s/f7", dir);
  snprintf(third, sizeof third, "%s/f8", dir);
  snprintf(fourth, sizeof fourth, "%s/f9", dir);
  snprintf(fifth, sizeof fifth, "%s/f10", dir);
  snprintf(sixth, sizeof sixth, "%s/f11", dir);
  snprintf(other, sizeof other, "%s/../other/note", dir);
  fd = open("f6", O_RDONLY);
  unnamed = open("f12", O_RDONLY);
  unlink("f12");
  snprintf(link_to_fd, sizeof link_to_fd, "/proc/self/fd/%d", fd);
  stream = opendir(dir);

  char* memory =
      mmap(NULL, kLargest + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 4096, PROT_NONE);
  stack = memory + 4096;
  stack_t alternate = {.ss_sp = stack, .ss_size = size};
  struct sigaction action = {.sa_handler = call_next, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 3;
  for (step = 0; result != -2; ++step) {
    memset(stack, kUntouched, size);
    raise(SIGUSR1);
    printf("step %d: %c\n", step, result < 0 ? '-' : '+');
    fflush(stdout);
    int free_bytes = 0;
    while (stack[free_bytes] == kUntouched) ++free_bytes;
    if (getenv("SHOW_STACKS") != NULL) fprintf(stderr, "%d: %d free\n", step, free_bytes);
  }
  return 0;
}
