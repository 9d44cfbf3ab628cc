#include "daemon/read_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "bodhi/wire.h"
#include "daemon/shortage.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

// A partition has no queue of its own; the disk above it has.
bool is_rotational(dev_t device) {
  std::string block = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
  for (const char* queue : {"/queue/rotational", "/../queue/rotational"}) {
    std::ifstream file(block + queue);
    int rotational = 0;
    if (file >> rotational) return rotational != 0;
  }
  return false;
}

}  // namespace

bool orders_reads(const Config& config, dev_t cache_dev) {
  if (config.read_order == ReadOrderKey::kAuto) return is_rotational(cache_dev);
  return config.read_order == ReadOrderKey::kFifo;
}

void ReadOrder::ask(std::uint32_t dataset, FrameSeq seq, std::function<void(int)> done) {
  queue_.post([this, dataset, seq, done = std::move(done), asked_ms = monotonic_ms()] {
    bool has_left = monotonic_ms() - asked_ms >= kReadInMs;
    int status = has_left ? ETIMEDOUT : ENOMEM;
    if (!has_left) despite_shortage([&] { status = read_in(dataset, seq); });
    done(status);
  });
}

int ReadOrder::read_in(std::uint32_t dataset, FrameSeq seq) {
  UniqueFd copy = store_.open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  ::posix_fadvise(copy.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  auto piece = std::make_unique<char[]>(kPieceBytes);
  int code = 0;
  for (off_t offset = 0;;) {
    DiskHealth::Operation operation(store_.health());
    ssize_t size = ::pread(copy.get(), piece.get(), kPieceBytes, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) code = errno;
    if (size <= 0) break;
    offset += size;
  }
  store_.health().note(code);
  if (code != 0) return code;
  ++copies_read_;
  return 0;
}

}  // namespace zazen
