#include "tools/bench/support/plain_push.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/loopback.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10, kSmallBatch = 8, kLargestBatch = 256;
constexpr std::size_t kMostOpen = 512;

struct Order {
  std::uint64_t frames, frame_bytes;
};

bool read_all(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    ssize_t got = ::read(fd, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t done = ::write(fd, at, size);
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

// One connection: this thread receives, another one commits.
class Reception {
 public:
  Reception(int socket, const std::string& directory)
      : socket_(socket),
        directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        log_(::openat(directory_.get(), "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      0600)) {}

  bool run() {
    Order order;
    if (!read_all(socket_, &order, sizeof order)) return false;
    std::thread committer([this, frames = order.frames] { commit(frames); });
    bool received = true;
    for (std::uint64_t i = 0; received && i < order.frames; ++i) {
      received = receive(i, order.frame_bytes);
    }
    if (!received) {
      std::lock_guard lock(mutex_);
      failed_ = true;
      changed_.notify_all();
    }
    committer.join();
    return received && !failed_;
  }

 private:
  struct Frame {
    std::uint64_t number;
    UniqueFd file;
  };

  bool receive(std::uint64_t number, std::uint64_t bytes) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return failed_ || open_ < kMostOpen; });
      if (failed_) return false;
      ++open_;
    }
    UniqueFd file(::openat(directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file.valid()) return false;
    ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
    while (bytes > 0) {
      ssize_t got = ::read(socket_, buffer_.data(), std::min(bytes, buffer_.size()));
      if (got <= 0 || !write_all(file.get(), buffer_.data(), static_cast<std::size_t>(got))) {
        return false;
      }
      bytes -= static_cast<std::uint64_t>(got);
    }
    std::lock_guard lock(mutex_);
    complete_.push_back({number, std::move(file)});
    changed_.notify_all();
    return true;
  }

  void commit(std::uint64_t frames) {
    for (std::uint64_t done = 0; done < frames;) {
      std::vector<Frame> batch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failed_ || !complete_.empty(); });
        if (failed_) return;
        auto end = complete_.begin() +
                   static_cast<std::ptrdiff_t>(std::min(complete_.size(), kLargestBatch));
        batch.assign(std::move_iterator(complete_.begin()), std::move_iterator(end));
        complete_.erase(complete_.begin(), end);
      }
      bool kept = keep(batch);
      done += batch.size();
      kept = kept && write_all(socket_, &done, sizeof done);
      std::lock_guard lock(mutex_);
      open_ -= batch.size();
      failed_ = failed_ || !kept;
      changed_.notify_all();
    }
  }

  bool keep(const std::vector<Frame>& batch) {
    bool kept = true;
    if (batch.size() > kSmallBatch) {
      kept = ::syncfs(directory_.get()) == 0;
    } else {
      for (const Frame& frame : batch) kept = kept && ::fsync(frame.file.get()) == 0;
    }
    std::vector<std::uint64_t> numbers;
    for (const Frame& frame : batch) {
      std::string self = fmt::format("/proc/self/fd/{}", frame.file.get());
      std::string name = fmt::format("f{}", frame.number);
      kept = kept && ::linkat(AT_FDCWD, self.c_str(), directory_.get(), name.c_str(),
                              AT_SYMLINK_FOLLOW) == 0;
      numbers.push_back(frame.number);
    }
    auto flush = batch.size() > kSmallBatch ? ::syncfs : ::fsync;
    kept = kept && flush(directory_.get()) == 0;
    return kept && write_all(log_.get(), numbers.data(), numbers.size() * sizeof numbers[0]) &&
           ::fdatasync(log_.get()) == 0;
  }

  const int socket_;
  const UniqueFd directory_, log_;
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> complete_;
  std::size_t open_ = 0;
  bool failed_ = false;
};

}  // namespace

int plain_receiver(const std::string& directory) {
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::uint16_t port = bind_to_loopback(listening.get());
  if (::listen(listening.get(), 1) != 0) return 1;
  if (!write_all(STDOUT_FILENO, &port, sizeof port)) return 1;
  for (int turn = 0;; ++turn) {
    UniqueFd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string place = fmt::format("{}/{}", directory, turn);
    if (!socket.valid() || ::mkdir(place.c_str(), 0700) != 0) return 1;
    int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Reception(socket.get(), place).run();
  }
}

Result<PlainPush> PlainPush::start(const std::string& self, const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return last_error("pipe");
  UniqueFd from(ends[0]), to(ends[1]);
  Result<ChildProcess> receiver = ChildProcess::start({self, "push-receiver", directory},
                                                      plain_environment(), {-1, to.get(), -1});
  if (!receiver) return receiver.error();
  to.reset();
  std::uint16_t port = 0;
  if (!read_all(from.get(), &port, sizeof port)) {
    return Error{EPROTO, "the plain receiver did not start", {}};
  }
  return PlainPush(std::move(*receiver), port);
}

Result<double> PlainPush::send(const std::vector<std::string>& files,
                               std::uint64_t frame_bytes) {
  const Error broken{EPROTO, "the plain receiver ended", {}};
  Clock::time_point begin = Clock::now();
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connect_to_loopback(socket.get(), port_)) return broken;
  int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Order order{files.size(), frame_bytes};
  if (!write_all(socket.get(), &order, sizeof order)) return broken;
  for (const std::string& path : files) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    for (std::uint64_t left = frame_bytes; left > 0;) {
      ssize_t sent = ::sendfile(socket.get(), file.get(), nullptr, left);
      if (sent <= 0) return last_error(path);
      left -= static_cast<std::uint64_t>(sent);
    }
  }
  for (std::uint64_t done = 0; done < files.size();) {
    if (!read_all(socket.get(), &done, sizeof done)) return broken;
  }
  return seconds_since(begin);
}

}  // namespace zazen
