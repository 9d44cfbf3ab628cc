// Frames that are opened for reading and writing: one that is only opened stays as it is; one
// that is changed, by whichever road and by whichever process, is seen by the next who opens
// it.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "kernel.h"

namespace exerciser {
namespace {

constexpr int kWays[] = {O_RDWR, O_WRONLY, O_RDWR | O_APPEND, O_WRONLY | O_APPEND};

// The page is read first or not: a clean page that is mapped takes the first store otherwise.
void store(int fd, std::size_t size, bool reads_first, bool closes_first, std::size_t at,
           char byte) {
  void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) abort();
  auto* bytes = static_cast<volatile char*>(map);
  if (reads_first) (void)bytes[at];
  if (closes_first) close(fd);
  bytes[at] = byte;
  munmap(map, size);
  if (!closes_first) close(fd);
}

}  // namespace

// Of a shared frame, too: other actors read it meanwhile.
void Actor::open_only() {
  Name name = frame_name(chance(30), Spelling::kAny);
  int flags = kWays[random(4)];
  note_name(name);
  journal_.add(" %o", static_cast<unsigned>(flags));
  int fd = openat(name.dirfd, name.path.c_str(), flags);
  note_number(fd);
  if (fd < 0) return;
  int twin = chance(30) ? dup(fd) : -1;
  if ((flags & O_ACCMODE) == O_RDWR) {
    note_bytes(fd);
    struct stat st;
    if (chance(50) && fstat(fd, &st) == 0 && st.st_size > 0) {
      auto size = static_cast<std::size_t>(st.st_size);
      void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (map == MAP_FAILED) abort();
      journal_.data(map, st.st_size);
      munmap(map, size);
    }
  }
  journal_.result(close(fd));
  if (twin >= 0) close(twin);
  if (name.own) return note_own(name.frame);
  int again = openat(name.dirfd, name.path.c_str(), O_RDONLY);
  note_number(again);
  if (again < 0) return;
  note_bytes(again);
  close(again);
}

void Actor::store_one() {
  Name name = frame_name(true, Spelling::kAny);
  note_name(name);
  int fd = openat(name.dirfd, name.path.c_str(), O_RDWR);
  note_number(fd);
  if (fd < 0) return;
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size == 0) {
    close(fd);
    return;
  }
  spend(name.frame);
  auto size = static_cast<std::size_t>(st.st_size);
  std::size_t at = static_cast<std::size_t>(random(st.st_size));
  bool reads_first = chance(50), closes_first = chance(50);
  store(fd, size, reads_first, closes_first, at, static_cast<char>(random(256)));
  if (chance(50)) note_own(name.frame);  // else the daemon compares it before anybody reads it
}

// By a descriptor that it inherits or opens; it may be killed before it closes anything.
void Actor::write_in_child() {
  Name name = frame_name(true, Spelling::kAny);
  note_name(name);
  bool inherits = chance(50), is_killed = chance(30), stores = chance(30);
  char byte = static_cast<char>(random(256));
  long at = random(1000);
  int fd = inherits ? openat(name.dirfd, name.path.c_str(), O_RDWR) : -1;
  if (inherits) note_number(fd);
  if (inherits && fd < 0) return;
  spend(name.frame);
  pid_t pid = fork();
  if (pid == 0) {
    int own = inherits ? fd : openat(name.dirfd, name.path.c_str(), O_RDWR);
    struct stat st;
    if (own < 0) _exit(1);
    if (stores && fstat(own, &st) == 0 && st.st_size > at) {
      store(own, static_cast<std::size_t>(st.st_size), true, true, static_cast<std::size_t>(at),
            byte);
    } else if (pwrite(own, &byte, 1, at) != 1) {
      _exit(2);
    }
    if (is_killed) kernel::call(SYS_kill, getpid(), SIGKILL);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  journal_.add(" status %d", status);
  if (fd >= 0) close(fd);
  if (chance(50)) note_own(name.frame);
}

}  // namespace exerciser
