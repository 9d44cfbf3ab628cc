// Opening frames in every spelling, and all that is done with a descriptor afterwards.
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "actor.h"
#include "kernel.h"

// The calls of a program that is built with _FORTIFY_SOURCE.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int dirfd, const char* path, int flags);
int __openat64_2(int dirfd, const char* path, int flags);
}

namespace exerciser {
namespace {

bool is_by_syscall(const Name& name, long spelling) {
  return (name.dirfd == AT_FDCWD && spelling % 6 == 4) || spelling % 5 == 4;
}

int open_spelled(long spelling, const Name& name, int flags, mode_t mode) {
  const char* path = name.path.c_str();
  bool fortified = (flags & O_CREAT) == 0;
  if (name.dirfd == AT_FDCWD) {
    switch (spelling % 6) {
      case 0:
        return open(path, flags, mode);
      case 1:
        return open64(path, flags, mode);
      case 2:
        return fortified ? __open_2(path, flags) : open(path, flags, mode);
      case 3:
        return fortified ? __open64_2(path, flags) : open64(path, flags, mode);
      case 4:
        return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
      default:
        break;
    }
  }
  switch (spelling % 5) {
    case 0:
      return openat(name.dirfd, path, flags, mode);
    case 1:
      return openat64(name.dirfd, path, flags, mode);
    case 2:
      return fortified ? __openat_2(name.dirfd, path, flags)
                       : openat(name.dirfd, path, flags, mode);
    case 3:
      return fortified ? __openat64_2(name.dirfd, path, flags)
                       : openat64(name.dirfd, path, flags, mode);
    default:
      return static_cast<int>(syscall(SYS_openat, name.dirfd, path, flags, mode));
  }
}

}  // namespace

void Actor::open_one() {
  make_room();
  Name name = any_name(Spelling::kAny);
  int flags = O_RDONLY;
  if (chance(20)) flags |= O_CLOEXEC;
  if (chance(10)) flags |= O_NOFOLLOW;
  if (chance(5)) flags |= O_DIRECTORY;
  if (chance(5)) flags |= O_PATH;
  if (chance(5)) flags |= O_NONBLOCK;
  if (chance(5)) flags |= O_NOATIME;
  // Nobody writes to a shared frame, but it may be opened for it.
  if (chance(name.own ? 30 : 2)) flags |= chance(70) ? O_RDWR : O_WRONLY;
  if (chance(5)) flags |= O_APPEND;
  if (name.own && name.frame >= 0) {
    if (chance(15)) flags |= O_CREAT;
    if (chance(5)) flags |= O_EXCL;
    if ((flags & O_ACCMODE) != O_RDONLY && chance(15)) flags |= O_TRUNC;
  }
  if (!has("changes")) flags &= ~(O_CREAT | O_TRUNC);
  long spelling = random(30);
  if (!has("syscall") && is_by_syscall(name, spelling)) spelling = 0;
  note_name(name);
  journal_.add(" %ld %o", spelling, static_cast<unsigned>(flags));
  if ((flags & O_TRUNC) != 0 && (flags & O_PATH) == 0) spend(name.frame), sever(name.frame);
  int fd = open_spelled(spelling, name, flags, 0644);
  note_number(fd);
  if (fd < 0) return;
  journal_.add(" %o %d", static_cast<unsigned>(fcntl(fd, F_GETFL)), fcntl(fd, F_GETFD));
  Slot slot{.fd = fd, .flags = flags, .name = name};
  note_fd(slot);
  keep(fd, nullptr, flags, name);
}

// By the name that the kernel gives to a descriptor: for writing, too, which must reach the
// origin.
void Actor::reopen() {
  make_room();
  Slot* slot = chance(50) ? own_slot() : any_slot(false);
  if (slot == nullptr || slot->severed) return;
  bool writes = slot->name.own && slot->name.frame >= 0 && has("changes") && chance(40);
  int flags = writes ? O_RDWR : O_RDONLY;
  const char* folder = chance(50) ? "/proc/self/fd/" : "/dev/fd/";
  std::string path = folder + std::to_string(slot->fd);
  note_slot(*slot);
  journal_.add(" %s %o", folder, static_cast<unsigned>(flags));
  Name name = slot->name;
  int fd = open(path.c_str(), flags);
  note_number(fd);
  if (fd < 0) return;
  note_fd({.fd = fd, .flags = flags, .name = name});
  keep(fd, nullptr, flags, name);
  if (!writes) return;
  spend(name.frame);
  journal_.result(pwrite(fd, "changed", 7, random(100)));
  note_own(name.frame);
}

void Actor::close_one() {
  Slot& slot = slots_[static_cast<std::size_t>(random(static_cast<long>(slots_.size())))];
  if (chance(5) && slot.fd >= 0 && slot.stream == nullptr) {
    journal_.add(" range");
    unsigned number = static_cast<unsigned>(slot.fd);
    journal_.result(close_range(number, number, 0));
    slot = {};
    return;
  }
  close_slot(slot);
}

void Actor::read_some() {
  Slot* slot = any_slot(false);
  if (slot == nullptr) return;
  note_slot(*slot);
  char bytes[9000], more[1000];
  long count = random(sizeof bytes), offset = random(kMaxBytes);
  long got;
  switch (random(4)) {
    case 0:
      got = read(slot->fd, bytes, static_cast<std::size_t>(count));
      break;
    case 1:
      got = pread(slot->fd, bytes, static_cast<std::size_t>(count), offset);
      break;
    case 2: {
      iovec parts[] = {{bytes, static_cast<std::size_t>(count)}, {more, sizeof more}};
      got = readv(slot->fd, parts, 2);
      if (got > count) journal_.data(more, got - count), journal_.data(bytes, count);
      if (got > count) got = count;
      break;
    }
    default: {
      iovec part = {bytes, static_cast<std::size_t>(count)};
      got = preadv(slot->fd, &part, 1, offset);
    }
  }
  journal_.result(got);
  journal_.data(bytes, got);
}

void Actor::seek() {
  Slot* slot = any_slot(false);
  if (slot == nullptr) return;
  note_slot(*slot);
  static const int kWhence[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE};
  int whence = kWhence[random(5)];
  long offset = whence == SEEK_END ? -random(5000) : random(kMaxBytes);
  journal_.add(" %d %ld", whence, offset);
  // Where a file that was changed has its holes is the file system's own affair.
  if ((whence == SEEK_DATA || whence == SEEK_HOLE) && slot->name.own) return;
  journal_.result(lseek(slot->fd, offset, whence));
}

void Actor::map() {
  Slot* slot = any_slot(false);
  if (slot == nullptr) return;
  note_slot(*slot);
  struct stat st;
  if (fstat(slot->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return;
  std::size_t size = static_cast<std::size_t>(st.st_size);
  int how = chance(50) ? MAP_SHARED : MAP_PRIVATE;
  void* bytes = mmap(nullptr, size, PROT_READ, how, slot->fd, 0);
  if (bytes == MAP_FAILED) return journal_.result(-1);
  journal_.add(" mapped %zu", size);
  journal_.data(bytes, st.st_size);
  munmap(bytes, size);
}

void Actor::duplicate() {
  make_room();
  Slot* slot = any_slot(false);
  if (slot == nullptr) return;
  note_slot(*slot);
  long how = random(5);
  int target = 400 + 20 * number_ + static_cast<int>(random(20));
  bool taken = kernel::call(SYS_fcntl, target, F_GETFD) >= 0;
  if (taken && how >= 2) how = 0;
  int fd = -1;
  switch (how) {
    case 0:
      fd = dup(slot->fd);
      break;
    case 1:
      fd = fcntl(slot->fd, F_DUPFD, 10);
      break;
    case 2:
      fd = dup2(slot->fd, target);
      break;
    case 3:
      fd = dup3(slot->fd, target, O_CLOEXEC);
      break;
    default:
      fd = fcntl(slot->fd, F_DUPFD_CLOEXEC, target);
      break;
  }
  journal_.add(" %ld", how);
  note_number(fd);
  if (fd < 0) return;
  journal_.add(" at %ld", static_cast<long>(lseek(fd, 0, SEEK_CUR)));
  Slot twin = *slot;
  twin.fd = fd;
  note_fd(twin);
  for (Slot& empty : slots_) {
    if (empty.fd >= 0) continue;
    empty = twin;
    return;
  }
}

void Actor::pass() {
  Slot* slot = any_slot(false);
  int ends[2];
  if (slot == nullptr || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  note_slot(*slot);
  char byte = 'x';
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &slot->fd, sizeof(int));
  journal_.result(sendmsg(ends[0], &message, 0));
  journal_.result(recvmsg(ends[1], &message, 0));
  Slot twin = *slot;
  memcpy(&twin.fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  note_number(twin.fd);
  note_fd(twin);
  close(twin.fd);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace exerciser
