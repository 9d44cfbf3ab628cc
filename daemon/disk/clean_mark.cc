#include "daemon/disk/clean_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "bodhi/common/unique_fd.h"

namespace zazen {
namespace {

constexpr char kMark[] = "clean", kNewMark[] = "clean.new";

std::string text_of(const CleanMark& mark) {
  return fmt::format("zazen 1 {:016x} {}\n", mark.stamp,
                     mark.reconciled ? "reconciled" : "unreconciled");
}

std::optional<CleanMark> read_mark(int state_fd) {
  UniqueFd file(::openat(state_fd, kMark, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[64] = {};
  ssize_t size = ::read(file.get(), text, sizeof text - 1);
  CleanMark mark;
  if (size <= 0 || std::sscanf(text, "zazen 1 %" SCNx64, &mark.stamp) != 1) return std::nullopt;
  for (bool reconciled : {false, true}) {
    mark.reconciled = reconciled;
    if (mark.stamp != 0 && text_of(mark) == text) return mark;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CleanMark> take_clean_mark(int state_fd) {
  std::optional<CleanMark> mark = read_mark(state_fd);
  if (::unlinkat(state_fd, kMark, 0) != 0) return std::nullopt;
  return ::fsync(state_fd) == 0 ? mark : std::nullopt;
}

int leave_clean_mark(int state_fd, const CleanMark& mark) {
  UniqueFd file(::openat(state_fd, kNewMark,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return errno;
  std::string text = text_of(mark);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ENOSPC;
  }
  if (::fsync(file.get()) != 0 || ::renameat(state_fd, kNewMark, state_fd, kMark) != 0 ||
      ::fsync(state_fd) != 0) {
    return errno;
  }
  return 0;
}

}  // namespace zazen
