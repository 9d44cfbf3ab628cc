#include "actor.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "kernel.h"

namespace exerciser {
namespace {

constexpr int kSlots = 16;
constexpr long kWriterOperations = 60;  // a descriptor that writes is kept for no longer
constexpr int kFirstPrivate = 700;      // numbers that no operation gets

int open_private(const std::string& path, int number) {
  int fd = static_cast<int>(kernel::call(SYS_openat, AT_FDCWD, kernel::as_long(path.c_str()),
                                         O_RDONLY | O_DIRECTORY));
  if (fd < 0 || kernel::call(SYS_dup2, fd, number) != number) abort();
  kernel::call(SYS_close, fd);
  return number;
}

}  // namespace

Actor::Actor(int number, bool threaded, std::uint64_t seed, std::string root, int journal_fd)
    : number_(number),
      threaded_(threaded),
      generator_(seed * 1000 + static_cast<std::uint64_t>(number)),
      root_(std::move(root)),
      own_("/own" + std::to_string(number)),
      journal_(journal_fd),
      slots_(kSlots) {
  shared_fd_ = open_private(directory(false), kFirstPrivate + 3 * number);
  own_fd_ = open_private(directory(true), kFirstPrivate + 3 * number + 1);
  root_fd_ = open_private(root_, kFirstPrivate + 3 * number + 2);
}

void Actor::run(long operations, const std::vector<std::string>& without, void (*turn)(long)) {
  without_ = without;
  std::vector<const Operation*> lots;
  for (int i = 0; i < kOperationCount; ++i) {
    const Operation& operation = kOperations[i];
    bool left_out = !has(operation.name) || (operation.changes && !has("changes"));
    if (left_out || (threaded_ && operation.needs_process)) continue;
    lots.insert(lots.end(), static_cast<std::size_t>(operation.weight), &operation);
  }
  for (count_ = 0; count_ < operations; ++count_) {
    const Operation& operation =
        *lots[static_cast<std::size_t>(random(static_cast<long>(lots.size())))];
    journal_.begin(count_, operation.name);
    close_old_writers();
    (this->*operation.run)();
    journal_.end();
    if (turn != nullptr) turn(count_ + 1);
  }
  for (Slot& slot : slots_) close_slot(slot);
  journal_.flush();
}

bool Actor::has(const char* feature) const {
  return std::find(without_.begin(), without_.end(), feature) == without_.end();
}

Name Actor::spell(bool own, const std::string& last, int frame, Spelling spelling) {
  std::string dir = own ? own_ : "/shared";
  std::string here = dir.substr(1);
  int fd = own ? own_fd_ : shared_fd_;
  Name name;
  name.own = own;
  name.frame = frame;
  name.origin = root_ + dir + "/" + last;
  bool in_it = cwd_ == (own ? 2 : 1);
  switch (random(spelling == Spelling::kAny ? 14 : 9)) {
    case 0:
      name.path = root_ + dir + "//" + last;
      break;
    case 1:
      name.path = root_ + dir + "/./" + last;
      break;
    case 2:
      name.path = root_ + dir + "/.." + dir + "/" + last;
      break;
    case 3:
      name.path = root_ + "/link-" + here + "/" + last;
      break;
    case 4:
      name.path = "/proc/self/fd/" + std::to_string(fd) + "/" + last;
      break;
    case 5:
    case 6:
      name.path = in_it ? last : (cwd_ == 0 ? "" : "../") + here + "/" + last;
      break;
    case 7:
    case 8:
      name.path = name.origin + (chance(4) ? "/" : "");
      break;
    case 9:
      name.dirfd = fd, name.path = last;
      break;
    case 10:
      name.dirfd = fd, name.path = "./" + last;
      break;
    case 11:
      name.dirfd = root_fd_, name.path = here + "/" + last;
      break;
    case 12:
      name.dirfd = fd, name.path = ".." + dir + "//" + last;
      break;
    default:
      name.dirfd = fd, name.path = name.origin;
      break;
  }
  return name;
}

Name Actor::frame_name(bool own, Spelling spelling) {
  int frame = static_cast<int>(random(own ? kOwnFrames : kSharedFrames));
  return spell(own, "f" + std::to_string(frame), frame, spelling);
}

Name Actor::any_name(Spelling spelling) {
  if (chance(85)) return frame_name(chance(40), spelling);
  static const char* const kOdd[] = {"f900", "f03", "f77", "f55", "notes.txt", "f1/x", "", "."};
  return spell(chance(30), kOdd[random(8)], -1, spelling);
}

void Actor::make_room() {
  for (const Slot& slot : slots_) {
    if (slot.fd < 0) return;
  }
  close_slot(slots_[static_cast<std::size_t>(random(kSlots))]);
}

Slot* Actor::any_slot(bool streams) {
  std::size_t first = static_cast<std::size_t>(random(kSlots));
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[(first + i) % kSlots];
    if (slot.fd >= 0 && !slot.spent && (slot.stream != nullptr) == streams) return &slot;
  }
  journal_.add(" none");
  return nullptr;
}

Slot* Actor::own_slot() {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.name.own && slot.name.frame >= 0 && !slot.severed && !slot.spent &&
        !slot.is_path()) {
      return &slot;
    }
  }
  journal_.add(" none");
  return nullptr;
}

Slot* Actor::writing_slot() {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.writes() && slot.name.own && slot.name.frame >= 0 &&
        slot.stream == nullptr && !slot.is_path()) {
      return &slot;
    }
  }
  journal_.add(" none");
  return nullptr;
}

void Actor::keep(int fd, FILE* stream, int flags, const Name& name) {
  if (fd < 0) return;
  for (Slot& slot : slots_) {
    if (slot.fd >= 0) continue;
    slot = {.fd = fd, .stream = stream, .flags = flags, .name = name, .opened_at = count_};
    return;
  }
  abort();  // an open makes room first
}

void Actor::close_slot(Slot& slot) {
  if (slot.fd < 0) return;
  long result = slot.stream != nullptr ? fclose(slot.stream) : close(slot.fd);
  journal_.add(" close");
  note_number(slot.fd);
  journal_.result(result);
  slot = {};
}

void Actor::sever(int frame) {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.name.own && slot.name.frame == frame && !slot.writes()) {
      slot.severed = true;
    }
  }
}

void Actor::spend(int frame) {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.name.own && slot.name.frame == frame && !slot.writes()) {
      slot.spent = true;
    }
  }
}

void Actor::close_writers(int frame) {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.name.own && slot.name.frame == frame && slot.writes()) {
      close_slot(slot);
    }
  }
}

void Actor::follow(int from, int to) {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.name.own && slot.name.frame == from) slot.name.frame = to;
  }
}

void Actor::close_old_writers() {
  for (Slot& slot : slots_) {
    if (slot.fd >= 0 && slot.writes() && count_ - slot.opened_at > kWriterOperations) {
      close_slot(slot);
    }
  }
}

std::string Actor::make_bytes(long count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator_());
  return bytes;
}

}  // namespace exerciser
