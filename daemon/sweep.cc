// The worker touches the store and the hooks only while the sweep is not stopping: one that
// comes back from a hanging origin later finds nobody at home, and goes.
#include "daemon/sweep.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>

#include "bodhi/table.h"
#include "daemon/log.h"
#include "daemon/origin_threads.h"
#include "daemon/shortage.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMostAtOnce = 32;
constexpr std::int64_t kStepMs = 100;          // of a pass that is spread out
constexpr std::int64_t kLongestPauseMs = 500;  // then it is seen whether there are more copies
constexpr std::int64_t kAgainMs = 2'000;       // a dataset that stays distrusted
constexpr milliseconds kPatience(2'000);       // at the end, with an origin that hangs
constexpr milliseconds kOriginLimit(10'000);   // for kMostAtOnce frames

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
    pause_until(monotonic_ms());
    while (!stopping()) {
      if (period_ms_ == 0 || store_.usage().files == 0) {
        pause_until(monotonic_ms() + kLongestPauseMs);
      } else {
        pass();
      }
    }
    bool caught = !origins_->stop(kPatience / 2);
    if (caught) (void)origins_.release();  // its thread still uses it
    std::lock_guard lock(shared_->mutex);
    shared_->caught = caught;
    shared_->ended = true;
    shared_->changed.notify_all();
  }

 private:
  bool stopping() const { return shared_->stopping; }

  // All datasets, spread over the period.
  void pass() {
    begin_ms_ = monotonic_ms();
    done_ = 0;
    std::vector<std::uint64_t> known(store_.datasets());
    {
      std::lock_guard lock(shared_->mutex);
      for (std::size_t i = 0; i < known.size(); ++i) known[i] = shared_->doubts[i].times;
    }
    for (std::uint32_t i = 0; i < store_.datasets(); ++i) {
      bool clean = pass_over(i);
      if (stopping()) return;
      if (clean) clear(i, [&](Doubt& doubt) { doubt.stale &= doubt.times != known[i]; });
    }
    std::lock_guard lock(shared_->mutex);
    shared_->progress.passes += 1;
    shared_->progress.ended_at = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
    shared_->progress.compared = 0;
  }

  // True if each copy is the origin's.
  bool pass_over(std::uint32_t dataset) {
    bool clean = true;
    for (std::optional<FrameSeq> from = 0; from;) {
      std::uint64_t step = store_.usage().files * kStepMs / period_ms_;
      SampleResult result;
      done_ += compare_next(dataset, &from, std::clamp<std::uint64_t>(step, 1, kMostAtOnce),
                            &result);
      if (stopping()) return false;
      clean = clean && all_same(result);
      {
        std::lock_guard lock(shared_->mutex);
        shared_->progress.compared = done_;
      }
      for (std::int64_t due_ms; !stopping() && monotonic_ms() < (due_ms = pass_due_ms());) {
        pause_until(std::min(due_ms, monotonic_ms() + kLongestPauseMs));
      }
    }
    return clean;
  }

  // When what is done should be done. There may be more copies than at the beginning.
  std::int64_t pass_due_ms() const {
    double part =
        static_cast<double>(done_) /
        static_cast<double>(std::max({store_.usage().files, done_, std::uint64_t{1}}));
    return begin_ms_ + static_cast<std::int64_t>(static_cast<double>(period_ms_) * part);
  }

  static bool all_same(const SampleResult& result) {
    return result.status == 0 && result.unknown == 0 && result.stale.empty();
  }

  template <class Change>
  void clear(std::uint32_t dataset, Change change) {
    std::lock_guard lock(shared_->mutex);
    Doubt& doubt = shared_->doubts[dataset];
    bool doubted = doubt.stale || doubt.unclean;
    change(doubt);
    if (doubted && !doubt.stale && !doubt.unclean) hooks_.mark(dataset, false);
  }

  // Compares some frames from *from on, and drops what is stale; *from is then where to go on,
  // or nothing at the end. How many there were.
  std::size_t compare_next(std::uint32_t dataset, std::optional<FrameSeq>* from,
                           std::uint64_t most, SampleResult* result) {
    std::vector<FrameSeq> frames = frames_from(dataset, **from, most);
    bool last = frames.empty() || frames.back() == std::numeric_limits<FrameSeq>::max();
    *from = last ? std::nullopt : std::optional(frames.back() + 1);
    std::erase_if(frames, [&](FrameSeq seq) { return !store_.find(dataset, seq); });
    if (frames.empty()) return 0;
    *result = compare(dataset, frames);
    if (stopping()) return 0;
    if (result->status == ETIMEDOUT) *from = std::nullopt;  // the others have their turn
    if (!result->stale.empty()) {
      distrust(*shared_, hooks_, dataset);
      hooks_.drop(dataset, *result);
      std::lock_guard lock(shared_->mutex);
      shared_->progress.stale += result->stale.size();
    }
    rest(frames.size());
    return frames.size();
  }

  SampleResult compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames) {
    auto result = std::make_shared<SampleResult>();
    auto question = [&store = store_, shared = shared_, dataset, frames, result] {
      *result = compare_frames(store, dataset, frames, 1, &shared->stopping);
      return 0;
    };
    if (int code = origins_->ask(dataset, question, kOriginLimit); code != 0) {
      SampleResult not_answered;
      not_answered.status = code;
      return not_answered;
    }
    return std::move(*result);
  }

  // The store goes through all that it has for each answer: many frames are asked for at once,
  // and those that are gone when their turn comes are left out.
  std::vector<FrameSeq> frames_from(std::uint32_t dataset, FrameSeq first, std::size_t most) {
    constexpr std::size_t kMostAhead = 65'536;
    if (ahead_of_ != std::pair(dataset, first)) ahead_.clear();
    if (ahead_.empty()) {
      std::vector<FrameSeq> frames = store_.frames_from(dataset, first, kMostAhead);
      ahead_.assign(frames.begin(), frames.end());
    }
    auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(std::min(most, ahead_.size()));
    std::vector<FrameSeq> frames(ahead_.begin(), end);
    ahead_.erase(ahead_.begin(), end);
    if (!frames.empty()) ahead_of_ = {dataset, frames.back() + 1};
    return frames;
  }

  // No more than kMostPerSecond.
  void rest(std::uint64_t compared) {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, milliseconds(compared * 1'000 / kMostPerSecond + 1),
                              [this] { return stopping(); });
  }

  // Meanwhile, what an unclean stop has left in doubt has its turn.
  void pause_until(std::int64_t until_ms) {
    while (!stopping()) {
      std::int64_t now_ms = monotonic_ms(), wake_ms = until_ms;
      std::optional<std::uint32_t> due;
      {
        std::unique_lock lock(shared_->mutex);
        for (std::uint32_t i = 0; i < shared_->doubts.size(); ++i) {
          const Doubt& doubt = shared_->doubts[i];
          if (!doubt.unclean) continue;
          if (doubt.due_ms <= now_ms) due = i;
          wake_ms = std::min(wake_ms, doubt.due_ms);
        }
        if (!due && now_ms >= until_ms) return;
        if (!due) {
          shared_->changed.wait_for(lock,
                                    milliseconds(std::max<std::int64_t>(wake_ms - now_ms, 1)));
        }
      }
      if (due) compare_once(*due);
    }
  }

  // All copies of one dataset, at full speed. What is stale is known to be, from then on.
  void compare_once(std::uint32_t dataset) {
    bool known = store_.is_reconciled();
    std::unique_lock lock(shared_->mutex);
    const std::uint64_t times = shared_->doubts[dataset].times_unclean;
    lock.unlock();
    for (std::optional<FrameSeq> from = 0; from && known;) {
      SampleResult result;
      compare_next(dataset, &from, kMostAtOnce, &result);
      if (stopping()) return;
      known = result.status == 0 && result.unknown == 0;
    }
    clear(dataset, [&](Doubt& doubt) {
      doubt.unclean = !known || doubt.times_unclean != times;
      doubt.due_ms = monotonic_ms() + kAgainMs;
    });
  }

  const Store& store_;
  const std::int64_t period_ms_;
  const Hooks hooks_;
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<OriginThreads> origins_ = std::make_unique<OriginThreads>(1);
  std::int64_t begin_ms_ = 0;  // of the pass
  std::uint64_t done_ = 0;
  std::deque<FrameSeq> ahead_;
  std::pair<std::uint32_t, FrameSeq> ahead_of_ = {};  // where they begin
};

Sweep::Sweep(const Store& store, std::uint64_t period_ms, Hooks hooks)
    : hooks_(std::move(hooks)), shared_(std::make_shared<Shared>()) {
  shared_->doubts.resize(kMaxDatasets);
  // Where many users are served, who changed a frame while no daemon was there could not drop
  // root's copy.
  bool in_doubt = !store.stopped_cleanly() || store.serves_all_users();
  for (std::uint32_t i = 0; i < store.datasets() && in_doubt; ++i) {
    shared_->doubts[i].unclean = true;
    hooks_.mark(i, true);
  }
  auto worker = std::make_shared<Worker>(store, period_ms, hooks_, shared_);
  thread_ = std::thread([worker] { until_no_shortage([&] { worker->run(); }); });
}

void Sweep::distrust(std::uint32_t dataset) {
  distrust(*shared_, hooks_, dataset);
}

void Sweep::distrust(Shared& shared, const Hooks& hooks, std::uint32_t dataset) {
  std::lock_guard lock(shared.mutex);
  Doubt& doubt = shared.doubts[dataset];
  ++doubt.times;
  doubt.stale = true;
  hooks.mark(dataset, true);
}

void Sweep::doubt(std::uint32_t dataset) {
  std::lock_guard lock(shared_->mutex);
  Doubt& doubt = shared_->doubts[dataset];
  doubt.unclean = true;
  doubt.times_unclean += 1;
  doubt.due_ms = 0;
  hooks_.mark(dataset, true);
  shared_->changed.notify_all();
}

bool Sweep::is_in_doubt(std::uint32_t dataset) const {
  std::lock_guard lock(shared_->mutex);
  const Doubt& doubt = shared_->doubts[dataset];
  return doubt.unclean || doubt.stale;
}

SweepProgress Sweep::progress() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->progress;
}

bool Sweep::stop() {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  bool ended = shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
  if (ended && !shared_->caught) return true;
  log_line(LogLevel::kWarn, "sweep_hangs", {{"what", "an origin does not answer"}});
  return false;
}

}  // namespace zazen
