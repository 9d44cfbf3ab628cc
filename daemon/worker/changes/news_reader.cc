#include "daemon/worker/changes/news_reader.h"

#include <chrono>
#include <thread>
#include <utility>

#include "daemon/process/crash_report.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPauseMs = 10, kLongPauseMs = 60'000;
constexpr std::chrono::seconds kAwake(1);  // after the last entry

}  // namespace

void NewsReader::begin() {
  std::lock_guard lock(mutex_);
  if (counters_ == nullptr) counters_ = map_counters(runtime_.c_str());
  if (counters_ == nullptr || !begin_reading(counters_->news, reader_)) return;
  if (!std::exchange(has_thread_, true)) {
    until_no_shortage([this] {
      std::thread([this] {
        CrashStack crash_stack;
        until_no_shortage([this] { run(); });
      }).detach();
    });
  }
}

bool NewsReader::leave() {
  std::lock_guard lock(mutex_);
  if (counters_ == nullptr) return true;
  std::uint64_t own = reader_;
  return !counters_->news.reader.compare_exchange_strong(own, 0) || take_all() == 0;
}

void NewsReader::run() {
  for (Clock::time_point last = Clock::now();;) {
    if (take_all() > 0) last = Clock::now();
    const bool is_quiet = Clock::now() - last > kAwake;
    await_news(counters_->news, is_quiet ? kLongPauseMs : kPauseMs, is_quiet);
  }
}

std::size_t NewsReader::take_all() {
  ProgramNews& news = counters_->news;
  return take_news(news, [&](const FrameEntry& entry, NewsWord* word) {
    if ((entry.kinds & kNewsMissed) == 0) has_read_ = true;
    std::function<void()> settled;
    if (word != nullptr) settled = [&news, entry, word] { settle_news(news, entry, word); };
    taker_.take_news(entry, std::move(settled));
  });
}

}  // namespace zazen
