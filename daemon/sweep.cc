// The worker touches the store and the hooks only while the sweep is not stopping: one that
// comes back from a hanging origin later finds nobody at home, and goes.
#include "daemon/sweep.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "bodhi/table.h"
#include "daemon/log.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMostAtOnce = 32;
constexpr std::int64_t kStepMs = 100;          // of a pass that is spread out
constexpr std::int64_t kLongestPauseMs = 500;  // then it is seen whether there are more copies
constexpr std::int64_t kAgainMs = 2'000;       // a dataset that stays distrusted
constexpr milliseconds kPatience(2'000);       // at the end, with an origin that hangs

}  // namespace

class Sweep::Worker {
 public:
  Worker(const Store& store, std::uint64_t period_ms, Hooks hooks,
         std::shared_ptr<Shared> shared)
      : store_(store),
        period_ms_(static_cast<std::int64_t>(period_ms)),
        hooks_(std::move(hooks)),
        shared_(std::move(shared)) {}

  void run() {
    while (!stopping()) {
      if (period_ms_ == 0 || store_.usage().files == 0) {
        pause_until(monotonic_ms() + kLongestPauseMs);
      } else {
        pass();
      }
    }
    std::lock_guard lock(shared_->mutex);
    shared_->ended = true;
    shared_->changed.notify_all();
  }

 private:
  bool stopping() const { return shared_->stopping; }

  // All datasets, spread over the period.
  void pass() {
    const std::int64_t begin_ms = monotonic_ms();
    std::uint64_t done = 0;
    for (std::uint32_t dataset = 0; dataset < store_.datasets(); ++dataset) {
      for (std::optional<FrameSeq> from = 0; from;) {
        std::uint64_t step = store_.usage().files * kStepMs / period_ms_;
        SampleResult result;
        done += compare_next(dataset, &from, std::clamp<std::uint64_t>(step, 1, kMostAtOnce),
                             &result);
        if (stopping()) return;
        if (!result.stale.empty()) distrust(*shared_, hooks_, dataset);
        {
          std::lock_guard lock(shared_->mutex);
          shared_->progress.compared = done;
        }
        auto due_ms = [&] {
          std::uint64_t all = std::max(store_.usage().files, done);
          return begin_ms + static_cast<std::int64_t>(static_cast<double>(period_ms_) *
                                                      static_cast<double>(done) /
                                                      static_cast<double>(all));
        };
        while (!stopping() && monotonic_ms() < due_ms()) {
          pause_until(std::min(due_ms(), monotonic_ms() + kLongestPauseMs));
        }
        if (stopping()) return;
      }
    }
    std::lock_guard lock(shared_->mutex);
    shared_->progress.passes += 1;
    shared_->progress.ended_at = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
    shared_->progress.compared = 0;
  }

  // Compares some frames from *from on, and drops what is stale; *from is then where to go on,
  // or nothing at the end. How many there were.
  std::size_t compare_next(std::uint32_t dataset, std::optional<FrameSeq>* from,
                           std::uint64_t most, SampleResult* result) {
    std::vector<FrameSeq> frames = store_.frames_from(dataset, **from, most);
    bool last = frames.empty() || frames.back() == std::numeric_limits<FrameSeq>::max();
    *from = last ? std::nullopt : std::optional(frames.back() + 1);
    if (frames.empty()) return 0;
    *result = compare_frames(store_, dataset, frames, 1, &shared_->stopping);
    if (stopping()) return 0;
    if (!result->stale.empty()) {
      hooks_.drop(dataset, *result);
      std::lock_guard lock(shared_->mutex);
      shared_->progress.stale += result->stale.size();
    }
    rest(frames.size());
    return frames.size();
  }

  // No more than kMostPerSecond.
  void rest(std::uint64_t compared) {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, milliseconds(compared * 1'000 / kMostPerSecond + 1),
                              [this] { return stopping(); });
  }

  // Meanwhile, what is distrusted has its turn.
  void pause_until(std::int64_t until_ms) {
    for (;;) {
      std::optional<std::uint32_t> doubtful;
      {
        std::unique_lock lock(shared_->mutex);
        std::int64_t now_ms = monotonic_ms(), wake_ms = until_ms;
        for (std::uint32_t i = 0; i < shared_->doubts.size() && !doubtful; ++i) {
          const Doubt& doubt = shared_->doubts[i];
          if (!doubt.distrusted) continue;
          if (doubt.due_ms <= now_ms) doubtful = i;
          wake_ms = std::min(wake_ms, doubt.due_ms);
        }
        if (!doubtful) {
          if (stopping() || now_ms >= until_ms) return;
          shared_->changed.wait_for(lock,
                                    milliseconds(std::max<std::int64_t>(wake_ms - now_ms, 1)));
          continue;
        }
      }
      settle_doubt(*doubtful);
      if (stopping()) return;
    }
  }

  // All copies of one dataset, at full speed.
  void settle_doubt(std::uint32_t dataset) {
    std::uint64_t times = 0;
    {
      std::lock_guard lock(shared_->mutex);
      times = shared_->doubts[dataset].times;
    }
    bool settled = store_.is_reconciled();
    bool reachable = settled;
    for (std::optional<FrameSeq> from = 0; from && reachable;) {
      SampleResult result;
      compare_next(dataset, &from, kMostAtOnce, &result);
      if (stopping()) return;
      reachable = result.status == 0;
      settled = settled && reachable && result.unknown == 0 && result.stale.empty();
    }
    std::lock_guard lock(shared_->mutex);
    Doubt& doubt = shared_->doubts[dataset];
    if (settled && doubt.times == times) {
      doubt.distrusted = false;
      hooks_.mark(dataset, false);
    } else {
      doubt.due_ms = monotonic_ms() + kAgainMs;
    }
  }

  const Store& store_;
  const std::int64_t period_ms_;
  const Hooks hooks_;
  const std::shared_ptr<Shared> shared_;
};

Sweep::Sweep(const Store& store, std::uint64_t period_ms, Hooks hooks)
    : hooks_(std::move(hooks)), shared_(std::make_shared<Shared>()) {
  shared_->doubts.resize(store.datasets());
  auto worker = std::make_shared<Worker>(store, period_ms, hooks_, shared_);
  thread_ = std::thread([worker] { worker->run(); });
}

void Sweep::distrust(std::uint32_t dataset) {
  distrust(*shared_, hooks_, dataset);
}

void Sweep::distrust(Shared& shared, const Hooks& hooks, std::uint32_t dataset) {
  std::lock_guard lock(shared.mutex);
  Doubt& doubt = shared.doubts[dataset];
  ++doubt.times;
  if (doubt.distrusted) return;
  doubt.distrusted = true;
  doubt.due_ms = 0;
  hooks.mark(dataset, true);
  shared.changed.notify_all();
}

SweepProgress Sweep::progress() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->progress;
}

void Sweep::stop() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  bool ended = shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) return thread_.join();
  log_line(LogLevel::kWarn, "sweep_hangs", {{"what", "an origin does not answer"}});
  thread_.detach();
}

}  // namespace zazen
