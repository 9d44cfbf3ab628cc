#include "daemon/disk/disk_health.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "bodhi/lean/frames/table.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::int64_t kLookMs = 1'000;

bool is_of_the_disk(int code) {
  switch (code) {
    case EIO:
    case EROFS:  // what ext4 does after an error
    case ENODEV:
    case ENXIO:
    case EREMOTEIO:
    case ENOTCONN:
    case ESHUTDOWN:
    case EUCLEAN:
    case EBADMSG:
      return true;
    default:
      return false;
  }
}

}  // namespace

DiskHealth::Operation::Operation(DiskHealth& health) : health_(health) {
  std::lock_guard lock(health_.mutex_);
  started_ = health_.running_.insert(health_.running_.end(), monotonic_ms());
}

DiskHealth::Operation::~Operation() {
  std::lock_guard lock(health_.mutex_);
  health_.running_.erase(started_);
}

void DiskHealth::watch(std::function<void(bool usable)> on_change) {
  on_change_ = std::move(on_change);
  thread_ = std::thread([this] { until_no_shortage([this] { run(); }); });
}

void DiskHealth::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DiskHealth::note(int code) {
  if (!is_of_the_disk(code)) return;
  {
    std::lock_guard lock(mutex_);
    suspected_ = code;
  }
  changed_.notify_all();
}

std::string DiskHealth::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

bool DiskHealth::is_slow() const {
  return !running_.empty() && monotonic_ms() - running_.front() >= slow_ms_;
}

void DiskHealth::run() {
  std::unique_lock lock(mutex_);
  const std::chrono::milliseconds look(
      std::min(kLookMs, std::max<std::int64_t>(slow_ms_ / 4, 1)));
  while (!stopping_) {
    bool in_use = problem_.empty();
    if (in_use && suspected_ != 0) {
      take_out(lock, std::strerror(suspected_));
      examine(lock);
    } else if (in_use && is_slow()) {
      take_out(lock, "it is slow");
    } else if (!in_use && monotonic_ms() >= next_probe_ms_) {
      examine(lock);
    } else {
      changed_.wait_for(lock, look, [&] { return stopping_ || (in_use && suspected_ != 0); });
    }
  }
}

void DiskHealth::take_out(std::unique_lock<std::mutex>& lock, std::string why) {
  problem_ = std::move(why);
  pause_ms_ = kFirstPauseMs;
  next_probe_ms_ = monotonic_ms();
  std::string reason = problem_;
  lock.unlock();
  on_change_(false);
  log_line(LogLevel::kError, "cache_out_of_use", {{"why", reason}});
  lock.lock();
}

void DiskHealth::examine(std::unique_lock<std::mutex>& lock) {
  suspected_ = 0;
  lock.unlock();
  std::int64_t started_ms = monotonic_ms();
  int code = probe_();
  bool took_long = monotonic_ms() - started_ms >= slow_ms_;
  lock.lock();
  if (code != 0 || took_long || is_slow()) {
    if (code != 0) problem_ = std::strerror(code);
    next_probe_ms_ = monotonic_ms() + pause_ms_;
    pause_ms_ = std::min(2 * pause_ms_, kLongestPauseMs);
    return;
  }
  problem_.clear();
  lock.unlock();
  log_line(LogLevel::kInfo, "cache_in_use_again");
  on_change_(true);
  lock.lock();
}

}  // namespace zazen
