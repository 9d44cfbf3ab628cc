#include "daemon/service/read_order.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "bodhi/lean/requests/wire.h"
#include "bodhi/lean/system/fd_link.h"
#include "daemon/process/shortage.h"
#include "daemon/service/seek_cost.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kLeastBytesMeasured = 16 << 20, kGrowth = 4;

// Tells whether a process has closed a file. False where the file cannot be watched.
class CloseWatch {
 public:
  CloseWatch(int inotify_fd, int file)
      : inotify_(inotify_fd),
        watch_(::inotify_add_watch(inotify_fd, FdLink(file).text(), IN_CLOSE_NOWRITE)) {}
  ~CloseWatch() {
    if (watch_ < 0) return;
    ::inotify_rm_watch(inotify_, watch_);
    has_closed();  // removes the rest, which the next watch must not see
  }
  CloseWatch(const CloseWatch&) = delete;
  CloseWatch& operator=(const CloseWatch&) = delete;

  bool has_closed() {
    alignas(inotify_event) char events[4096];
    bool found = false;
    for (ssize_t size; watch_ >= 0 && (size = ::read(inotify_, events, sizeof events)) > 0;) {
      for (const char* at = events; at < events + size;) {
        inotify_event event;
        std::memcpy(&event, at, sizeof event);
        found = found || (event.wd == watch_ && (event.mask & IN_CLOSE_NOWRITE) != 0);
        at += sizeof event + event.len;
      }
    }
    return found;
  }

 private:
  const int inotify_;
  const int watch_;
};

}  // namespace

ReadOrder::ReadOrder(const Store& store, ReadOrderKey key)
    : store_(store),
      key_(key),
      closes_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      measured_at_bytes_(kLeastBytesMeasured / kGrowth) {
  state_.is_ordered = key == ReadOrderKey::kFifo;
}

ReadOrder::State ReadOrder::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void ReadOrder::measure_when_due(std::function<void(const State&)> decided) {
  if (key_ != ReadOrderKey::kAuto) return;
  const std::uint64_t held = store_.usage().bytes;
  if (held / kGrowth < measured_at_bytes_) return;
  measured_at_bytes_ = held;
  queue_.post([this, decided = std::move(decided)] {
    const std::optional<double> seek_ms = seek_cost_ms(time_reads(store_));
    State next = {seek_ms.value_or(0) > kExpensiveSeekMs, true, seek_ms};
    std::unique_lock lock(mutex_);
    state_ = next;
    lock.unlock();
    decided(next);
  });
}

void ReadOrder::ask(std::uint32_t dataset, FrameSeq seq, std::function<void(int)> done) {
  queue_.post([this, dataset, seq, done = std::move(done), asked_ms = monotonic_ms()] {
    bool is_told = false;
    auto tell = [&](int status) {
      if (std::exchange(is_told, true)) return;
      if (status == 0) ++copies_read_;
      done(status);
    };
    if (monotonic_ms() - asked_ms >= kReadInMs) return tell(ETIMEDOUT);  // it has given up
    int status = ENOMEM;
    despite_shortage([&] { status = read_in(dataset, seq, tell); });
    tell(status);
  });
}

int ReadOrder::read_in(std::uint32_t dataset, FrameSeq seq,
                       const std::function<void(int)>& tell) {
  UniqueFd copy = store_.open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  CloseWatch watch(closes_.get(), copy.get());  // the program that asks has the file open
  auto piece = std::make_unique<char[]>(kPieceBytes);
  int code = 0;
  for (off_t offset = 0;;) {
    DiskHealth::Operation operation(store_.health());
    // The program reads behind this thread, and must not ask the disk for the next bytes first.
    ::posix_fadvise(copy.get(), offset, 2 * kPieceBytes, POSIX_FADV_WILLNEED);
    ssize_t size = ::pread(copy.get(), piece.get(), kPieceBytes, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) code = errno;
    if (size <= 0) break;
    offset += size;
    tell(0);
    if (watch.has_closed()) break;
  }
  store_.health().note(code);
  return code;
}

}  // namespace zazen
