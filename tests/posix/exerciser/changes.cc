// Changes of an actor's own frames, each followed by what the name says and holds then.
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#include "actor.h"

namespace exerciser {
namespace {

constexpr mode_t kModes[] = {0644, 0600, 0640, 0755, 0444, 01400};

timespec old_time(long which) {
  return {1'000'000'000 + which, which * 1000};
}

}  // namespace

void Actor::write_some() {
  Slot* slot = writing_slot();
  if (slot == nullptr) return;
  note_slot(*slot);
  spend(slot->name.frame);
  std::string bytes = make_bytes(random(4000));
  long offset = random(20'000), wrote = -1;
  switch (random(3)) {
    case 0:
      wrote = write(slot->fd, bytes.data(), bytes.size());
      break;
    case 1:
      wrote = pwrite(slot->fd, bytes.data(), bytes.size(), offset);
      break;
    default: {
      iovec part = {bytes.data(), bytes.size()};
      wrote = writev(slot->fd, &part, 1);
    }
  }
  journal_.result(wrote);
  note_own(slot->name.frame);
}

void Actor::cut() {
  Name name = frame_name(true, Spelling::kPath);
  note_name(name);
  sever(name.frame), spend(name.frame);
  long size = random(30'000);
  journal_.result(chance(50) ? truncate(name.path.c_str(), size)
                             : truncate64(name.path.c_str(), size));
  note_own(name.frame);
}

void Actor::cut_open() {
  Slot* slot = writing_slot();
  if (slot == nullptr) return;
  note_slot(*slot);
  spend(slot->name.frame);
  journal_.result(ftruncate(slot->fd, random(30'000)));
  note_own(slot->name.frame);
}

void Actor::remove_and_make() {
  Name name = frame_name(true, Spelling::kAny);
  note_name(name);
  close_writers(name.frame), sever(name.frame);
  const char* path = name.path.c_str();
  int result = name.dirfd != AT_FDCWD || chance(30) ? unlinkat(name.dirfd, path, 0)
               : chance(50)                         ? unlink(path)
                                                    : remove(path);
  journal_.result(result);
  if (result == 0) follow(name.frame, -1);
  note_own(name.frame);
  if (chance(15)) return;
  // A name with a slash at its end cannot be made; the absolute one then.
  int fd = open(name.origin.c_str(), O_WRONLY | O_CREAT | O_EXCL, kModes[random(5)]);
  note_number(fd);
  if (fd < 0) return;
  std::string bytes = make_bytes(random(30'000));
  journal_.result(write(fd, bytes.data(), bytes.size()));
  if (chance(50)) {
    timespec times[] = {old_time(1), old_time(random(1000))};
    journal_.result(futimens(fd, times));
  }
  close(fd);
  note_own(name.frame);
}

void Actor::rename_one() {
  Name from = frame_name(true, Spelling::kAny), to = frame_name(true, Spelling::kAny);
  note_name(from), note_name(to);
  close_writers(from.frame), close_writers(to.frame);
  sever(from.frame), sever(to.frame);
  if (chance(40)) {  // as careful programs write: all of it, then the name
    from.path = from.origin = directory(true) + "/tmp";
    from.dirfd = AT_FDCWD;
    from.frame = -1;
    unlink(from.path.c_str());  // left by an exchange, and perhaps open
    FILE* stream = fopen(from.path.c_str(), "w");
    std::string bytes = make_bytes(random(20'000));
    fwrite(bytes.data(), 1, bytes.size(), stream);
    fclose(stream);
  }
  const char *old_path = from.path.c_str(), *new_path = to.path.c_str();
  long how = random(4);
  journal_.add(" %ld", how);
  int result;
  if (how < 2) {
    unsigned flag = how == 0 ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    result = renameat2(from.dirfd, old_path, to.dirfd, new_path, flag);
  } else if (from.dirfd == AT_FDCWD && to.dirfd == AT_FDCWD) {
    result = rename(old_path, new_path);
  } else {
    result = renameat(from.dirfd, old_path, to.dirfd, new_path);
  }
  journal_.result(result);
  if (result == 0 && from.frame != to.frame) {
    constexpr int kAside = 1000;
    follow(to.frame, how == 0 && from.frame >= 0 ? kAside : -1);
    if (from.frame >= 0) follow(from.frame, to.frame);
    follow(kAside, from.frame);
  }
  if (from.frame >= 0) note_own(from.frame);
  note_own(to.frame);
}

void Actor::link_one() {
  Name from = frame_name(true, Spelling::kAny);
  std::string to = directory(true) + "/f400";
  note_name(from);
  sever(from.frame);
  journal_.result(from.dirfd == AT_FDCWD && chance(50)
                      ? link(from.path.c_str(), to.c_str())
                      : linkat(from.dirfd, from.path.c_str(), AT_FDCWD, to.c_str(), 0));
  note_own(from.frame);
  note_own(400);
  journal_.result(unlink(to.c_str()));
  note_own(from.frame);
}

void Actor::link_open() {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  note_slot(*slot);
  std::string from = "/proc/self/fd/" + std::to_string(slot->fd);
  std::string to = directory(true) + "/f401";
  sever(slot->name.frame);
  journal_.result(linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW));
  struct stat st = {};
  int result = stat(to.c_str(), &st);
  note_relation(result, st, slot->name.origin.c_str(), true);
  journal_.result(unlink(to.c_str()));
  note_own(slot->name.frame);
}

void Actor::change_mode() {
  Name name = frame_name(true, Spelling::kAny);
  mode_t mode = kModes[random(6)];
  note_name(name);
  sever(name.frame);
  journal_.result(name.dirfd == AT_FDCWD && chance(70)
                      ? chmod(name.path.c_str(), mode)
                      : fchmodat(name.dirfd, name.path.c_str(), mode, 0));
  if (chance(30)) journal_.result(chown(name.origin.c_str(), getuid(), getgid()));
  note_own(name.frame);
}

void Actor::change_mode_open() {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  note_slot(*slot);
  sever(slot->name.frame);
  journal_.result(fchmod(slot->fd, kModes[random(6)]));
  note_own(slot->name.frame);
}

void Actor::change_times() {
  Name name = frame_name(true, Spelling::kAny);
  note_name(name);
  sever(name.frame);
  long which = random(1000), how = random(3);
  if (name.dirfd != AT_FDCWD || how == 0) {
    timespec times[] = {old_time(1), old_time(which)};
    journal_.result(utimensat(name.dirfd, name.path.c_str(), times, 0));
  } else if (how == 1) {
    timeval times[] = {{1'000'000'000, 0}, {1'000'000'000 + which, which}};
    journal_.result(utimes(name.path.c_str(), times));
  } else {
    utimbuf times = {1'000'000'000, 1'000'000'000 + which};
    journal_.result(utime(name.path.c_str(), &times));
  }
  note_own(name.frame);
}

void Actor::change_times_open() {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  note_slot(*slot);
  sever(slot->name.frame);
  timespec times[] = {old_time(1), old_time(random(1000))};
  journal_.result(chance(50) ? futimens(slot->fd, times)
                             : utimensat(AT_FDCWD,
                                         ("/proc/self/fd/" + std::to_string(slot->fd)).c_str(),
                                         times, 0));
  note_own(slot->name.frame);
}

}  // namespace exerciser
