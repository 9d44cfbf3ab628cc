// The notes of an actor in its journal: names, descriptors and answers.
#include <unistd.h>

#include <algorithm>

#include "actor.h"
#include "kernel.h"

namespace exerciser {

void Actor::note_number(int fd) {
  if (fd < 0) {
    journal_.result(fd);
  } else {
    journal_.add(threaded_ ? " fd" : " fd %d", fd);
  }
}

void Actor::note_name(const Name& name) {
  journal_.add(" %d:'%s'", name.dirfd, name.path.c_str());
}

void Actor::note_slot(const Slot& slot) {
  journal_.add(" [%s %o%s]", slot.name.origin.c_str(), static_cast<unsigned>(slot.flags),
               slot.severed ? " severed" : "");
}

void Actor::note_relation(int result, const struct stat& hooked, const char* origin,
                          bool follow) {
  journal_.result(result);
  if (result != 0) return;
  struct stat real;
  if (kernel::stat_at(AT_FDCWD, origin, &real, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
    journal_.add(" but no origin");
    return;
  }
  journal_.add(" mode %o size %ld", hooked.st_mode, static_cast<long>(hooked.st_size));
  auto differs = [&](const char* what, auto a, auto b) {
    if (a != b)
      journal_.add(" DIFFERS %s %ld %ld", what, static_cast<long>(a), static_cast<long>(b));
  };
  differs("dev", hooked.st_dev, real.st_dev);
  differs("ino", hooked.st_ino, real.st_ino);
  differs("mode", hooked.st_mode, real.st_mode);
  if (has("nlink")) differs("nlink", hooked.st_nlink, real.st_nlink);
  differs("uid", hooked.st_uid, real.st_uid);
  differs("gid", hooked.st_gid, real.st_gid);
  differs("size", hooked.st_size, real.st_size);
  differs("mtime", hooked.st_mtim.tv_sec, real.st_mtim.tv_sec);
  differs("mtime ns", hooked.st_mtim.tv_nsec, real.st_mtim.tv_nsec);
  differs("ctime", hooked.st_ctim.tv_sec, real.st_ctim.tv_sec);
  differs("ctime ns", hooked.st_ctim.tv_nsec, real.st_ctim.tv_nsec);
}

void Actor::note_bytes(int fd) {
  static thread_local char buffer[kMaxBytes];
  long got = pread(fd, buffer, sizeof buffer, 0);
  journal_.add(" bytes");
  journal_.result(got);
  journal_.data(buffer, got);
}

void Actor::note_fd(const Slot& slot) {
  struct stat st;
  if (!slot.severed) {
    int result = fstat(slot.fd, &st);
    bool follow = (slot.flags & O_NOFOLLOW) == 0;
    note_relation(result, st, slot.name.origin.c_str(), follow);
  }
  if (!slot.is_path() && (slot.flags & O_ACCMODE) != O_WRONLY) note_bytes(slot.fd);
}

void Actor::note_own(int frame) {
  std::string path = directory(true) + "/f" + std::to_string(frame);
  struct stat st;
  int result = stat(path.c_str(), &st);
  note_relation(result, st, path.c_str(), true);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  note_number(fd);
  if (fd < 0) return;
  note_bytes(fd);
  close(fd);
}

void Actor::note_names(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + "|";
  journal_.add(" %zu names", names.size());
  journal_.data(all.data(), static_cast<long>(all.size()));
}

}  // namespace exerciser
