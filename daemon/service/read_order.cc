#include "daemon/service/read_order.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "bodhi/lean/requests/wire.h"
#include "bodhi/lean/system/fd_link.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kLeastBytesMeasured = 16 << 20, kGrowth = 4;

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kMostReads = 24, kLeastReads = 6, kMostCopies = 16;
constexpr std::chrono::milliseconds kLimit(200);

struct OpenCopy {
  UniqueFd file;
  off_t blocks;  // of kReadBytes
};

std::vector<OpenCopy> some_copies(const Store& store) {
  std::vector<OpenCopy> copies;
  for (std::uint32_t dataset = 0; dataset < store.usage().datasets.size(); ++dataset) {
    for (FrameSeq seq : store.sample(dataset, kMostCopies)) {
      if (copies.size() == kMostCopies) return copies;
      UniqueFd file = store.open_copy(dataset, seq);
      struct stat st = {};
      if (!file.valid() || ::fstat(file.get(), &st) != 0 || st.st_size < kOrderedBytes)
        continue;
      if (::fcntl(file.get(), F_SETFL, O_DIRECT) != 0) continue;
      copies.push_back({std::move(file), st.st_size / off_t{kReadBytes}});
    }
  }
  return copies;
}

double lower_quartile(std::vector<double>& values) {
  auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

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

ReadTimes time_reads(const Store& store) {
  alignas(kReadBytes) static thread_local char buffer[kReadBytes];
  ReadTimes times;
  std::vector<OpenCopy> copies = some_copies(store);
  if (copies.empty()) return times;
  std::mt19937_64 random(std::random_device{}());
  const Clock::time_point begin = Clock::now();
  while (times.random.size() < kMostReads && Clock::now() - begin < kLimit) {
    const OpenCopy& copy = copies[random() % copies.size()];
    off_t block = static_cast<off_t>(random() % static_cast<std::uint64_t>(copy.blocks - 1));
    for (std::vector<double>* kind : {&times.random, &times.sequential}) {
      DiskHealth::Operation operation(store.health());
      const Clock::time_point asked = Clock::now();
      const ssize_t size =
          ::pread(copy.file.get(), buffer, kReadBytes, block++ * off_t{kReadBytes});
      if (size != ssize_t{kReadBytes}) return {};
      kind->push_back(std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
    }
  }
  return times;
}

std::optional<double> seek_cost_ms(ReadTimes times) {
  if (std::min(times.random.size(), times.sequential.size()) < kLeastReads) return std::nullopt;
  return std::max(0.0, lower_quartile(times.random) - lower_quartile(times.sequential));
}

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
    tell(code_despite_shortage([&] { return read_in(dataset, seq, tell); }));
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
