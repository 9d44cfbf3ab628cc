#include "daemon/disk/waiting_natives.h"

#include <dirent.h>
#include <fcntl.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "daemon/process/start_error.h"

namespace zazen {
namespace {

constexpr char kDirectory[] = ".zazen/waiting";

bool parse_name(const char* name, FrameSeq* seq) {
  const char* end = name + std::strlen(name);
  auto [rest, error] = std::from_chars(name, end, *seq);
  return error == std::errc() && rest == end && WaitingNatives::name_of(*seq) == name;
}

}  // namespace

Result<std::unique_ptr<WaitingNatives>> WaitingNatives::open(int dataset_directory,
                                                             PendingCopies& pending,
                                                             std::uint32_t index, Flush flush) {
  // A native that waits exists only here; flushing the file alone does not keep its own name.
  UniqueFd directory = make_directory_beneath(dataset_directory, kDirectory, flush);
  if (!directory.valid()) return failed_call("directory of the natives that wait");
  return std::unique_ptr<WaitingNatives>(
      new WaitingNatives(std::move(directory), pending, index));
}

void WaitingNatives::add(FrameSeq seq) {
  frames_.try_emplace(seq, pending_, index_, seq);
}

int WaitingNatives::load(const std::function<bool(FrameSeq)>& has_name) {
  std::lock_guard lock(mutex_);
  if (loaded_) return 0;
  UniqueFd listed = open_beneath(directory(), ".", O_RDONLY | O_DIRECTORY);
  DIR* entries = listed.valid() ? ::fdopendir(listed.get()) : nullptr;
  if (entries == nullptr) return errno;
  listed.release();
  errno = 0;
  while (const dirent* entry = ::readdir(entries)) {
    FrameSeq seq;
    if (!parse_name(entry->d_name, &seq)) continue;
    if (has_name(seq)) {
      ::unlinkat(directory(), entry->d_name, 0);
    } else {
      add(seq);
    }
    errno = 0;
  }
  int code = errno;
  ::closedir(entries);
  loaded_ = code == 0;
  return code;
}

bool WaitingNatives::contains(FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  return frames_.contains(seq);
}

std::size_t WaitingNatives::size() const {
  std::lock_guard lock(mutex_);
  return frames_.size();
}

std::vector<FrameSeq> WaitingNatives::frames() const {
  std::lock_guard lock(mutex_);
  std::vector<FrameSeq> frames;
  for (const auto& [seq, mark] : frames_) frames.push_back(seq);
  return frames;
}

int WaitingNatives::publish(Temporary& file, FrameSeq seq) {
  if (int code = file.publish(directory_.get(), name_of(seq).c_str()); code != 0) return code;
  std::lock_guard lock(mutex_);
  add(seq);
  unflushed_ = true;
  return 0;
}

int WaitingNatives::move_out(FrameSeq seq, int directory_fd, const char* leaf) {
  if (::renameat(directory_.get(), name_of(seq).c_str(), directory_fd, leaf) != 0) return errno;
  std::lock_guard lock(mutex_);
  frames_.erase(seq);
  unflushed_ = true;
  return 0;
}

int WaitingNatives::remove(FrameSeq seq) {
  if (::unlinkat(directory_.get(), name_of(seq).c_str(), 0) != 0 && errno != ENOENT) {
    return errno;
  }
  std::lock_guard lock(mutex_);
  frames_.erase(seq);
  unflushed_ = true;
  return 0;
}

int WaitingNatives::flush() {
  {
    std::lock_guard lock(mutex_);
    if (!unflushed_) return 0;
    unflushed_ = false;
  }
  if (::fsync(directory_.get()) == 0) return 0;
  const int code = errno;
  std::lock_guard lock(mutex_);
  unflushed_ = true;
  return code;
}

}  // namespace zazen
