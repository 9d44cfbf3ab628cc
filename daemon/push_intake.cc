#include "daemon/push_intake.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace zazen {
namespace {

constexpr std::uint64_t kHandOnBytes = 4 << 20;

}  // namespace

int PushIntake::begin(std::uint32_t dataset, std::uint64_t bytes) {
  if (store_.directory_is_full(dataset)) return EMLINK;
  room_ = store_.reserve(dataset, FrameKind::kNative, bytes);
  if (!room_.valid()) return room_.refusal();
  file_ = store_.make_temporary(dataset);
  if (file_.fd() < 0) return errno;
  int code = store_.allocate(dataset, FrameKind::kNative, bytes, Wanted::kNow,
                             [&] { return file_.allocate(bytes); });
  if (code == 0) room_.allocated();
  return code;
}

int PushIntake::write(const char* bytes, std::size_t size) {
  while (size > 0) {
    ssize_t done = ::pwrite(file_.fd(), bytes, size, static_cast<off_t>(written_));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return noted(errno);
    bytes += done;
    size -= static_cast<std::size_t>(done);
    written_ += static_cast<std::uint64_t>(done);
  }
  if (written_ - handed_on_ < kHandOnBytes) return 0;
  const std::uint64_t first = std::exchange(handed_on_, written_);
  return noted(file_.begin_write_out(first, written_ - first));
}

int PushIntake::noted(int code) {
  store_.health().note(code);
  return code;
}

ReceivedContent PushIntake::finish(std::uint64_t checksum) {
  return {std::move(file_), std::move(room_), written_, written_, checksum};
}

}  // namespace zazen
