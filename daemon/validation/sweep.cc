#include "daemon/validation/sweep.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMostAtOnce = 32;
constexpr std::int64_t kStepMs = 100;          // of a pass that is spread out
constexpr std::int64_t kLongestPauseMs = 500;  // then it checks whether there are more copies

}  // namespace

void Sweep::run() {
  pause_until(monotonic_ms());
  while (!is_stopping()) {
    if (period_ms_ == 0 || store_.usage().files == 0) {
      pause_until(monotonic_ms() + kLongestPauseMs);
    } else {
      pass();
    }
  }
}

// All datasets, spread over the period.
void Sweep::pass() {
  begin_ms_ = monotonic_ms();
  done_ = 0;
  std::vector<std::optional<Trust::Due>> due(store_.datasets());
  for (std::uint32_t i = 0; i < due.size(); ++i) due[i] = trust_.due(i, kStale);
  for (std::uint32_t i = 0; i < due.size(); ++i) {
    bool clean = pass_over(i);
    if (is_stopping()) return;
    if (clean && due[i]) trust_.clear(*due[i]);
  }
  std::lock_guard lock(mutex_);
  progress_.passes += 1;
  progress_.ended_at = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  progress_.compared = 0;
}

// True if each copy is equal to the origin's frame.
bool Sweep::pass_over(std::uint32_t dataset) {
  bool clean = true;
  for (std::optional<FrameSeq> from = 0; from;) {
    std::uint64_t step = store_.usage().files * kStepMs / period_ms_;
    SampleResult result;
    done_ +=
        compare_next(dataset, &from, std::clamp<std::uint64_t>(step, 1, kMostAtOnce), &result);
    if (is_stopping()) return false;
    clean = clean && result.is_known() && result.stale.empty();
    {
      std::lock_guard lock(mutex_);
      progress_.compared = done_;
    }
    do {
      pause_until(std::min(pass_due_ms(), monotonic_ms() + kLongestPauseMs));
    } while (!is_stopping() && monotonic_ms() < pass_due_ms());
  }
  return clean;
}

// The time at which this part of the pass should be done. The number of copies may grow.
std::int64_t Sweep::pass_due_ms() const {
  double part = static_cast<double>(done_) /
                static_cast<double>(std::max({store_.usage().files, done_, std::uint64_t{1}}));
  return begin_ms_ + static_cast<std::int64_t>(static_cast<double>(period_ms_) * part);
}

// Compares some frames from *from on, and drops stale ones. *from becomes the next frame, or
// nothing at the end. Returns how many frames it compared.
std::size_t Sweep::compare_next(std::uint32_t dataset, std::optional<FrameSeq>* from,
                                std::uint64_t most, SampleResult* result) {
  std::vector<FrameSeq> frames = frames_from(dataset, **from, most);
  bool last = frames.empty() || frames.back() == std::numeric_limits<FrameSeq>::max();
  *from = last ? std::nullopt : std::optional(frames.back() + 1);
  std::erase_if(frames, [&](FrameSeq seq) { return !store_.find(dataset, seq); });
  if (frames.empty()) return 0;
  *result = compare_frames(store_, dataset, frames, hooks_.compare, 1);
  if (is_stopping()) return 0;
  // The origin does not answer: the pass goes on with the other datasets.
  if (result->status == ETIMEDOUT && result->unknown == frames.size()) *from = std::nullopt;
  if (!result->stale.empty()) {
    trust_.doubt(dataset, kStale);
    hooks_.drop(dataset, *result);
    std::lock_guard lock(mutex_);
    progress_.stale += result->stale.size();
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(frames.size() * 1'000 / kMostPerSecond + 1));
  return frames.size();
}

// The store walks all its frames for each answer. So many frames are fetched at once, and those
// that are gone at their turn are left out.
std::vector<FrameSeq> Sweep::frames_from(std::uint32_t dataset, FrameSeq first,
                                         std::size_t most) {
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

// Compares datasets that nobody watched, until then. It compares at least one, but no doubts
// delay a pass for good.
void Sweep::pause_until(std::int64_t until_ms) {
  do {
    const auto due = trust_.await_unwatched(until_ms, stop_.get_token());
    if (!due) return;
    compare_all(*due);
  } while (monotonic_ms() < until_ms);
}

// Compares at full speed. Stale copies are another doubt, which begins then.
void Sweep::compare_all(const Trust::Due& due) {
  const bool is_reconciled = store_.is_reconciled();
  bool known = is_reconciled;
  for (std::optional<FrameSeq> from = 0; from && is_reconciled;) {
    SampleResult result;
    compare_next(due.dataset, &from, kMostAtOnce, &result);
    if (is_stopping()) return;
    known = known && result.is_known();
  }
  known ? trust_.clear(due) : trust_.try_again(due);
}

Sweep::Sweep(const Store& store, Trust& trust, std::uint64_t period_ms, Hooks hooks)
    : store_(store),
      trust_(trust),
      period_ms_(static_cast<std::int64_t>(period_ms)),
      hooks_(std::move(hooks)) {
  // Where many users are served, a program that changed a frame while no daemon ran could not
  // drop root's copy.
  bool in_doubt = !store.stopped_cleanly() || store.serves_all_users();
  for (std::uint32_t i = 0; i < store.datasets() && in_doubt; ++i) trust.doubt(i, kUnwatched);
}

void Sweep::start() {
  thread_ = std::thread([this] { until_no_shortage([this] { run(); }); });
}

SweepProgress Sweep::progress() const {
  std::lock_guard lock(mutex_);
  return progress_;
}

void Sweep::stop() {
  stop_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace zazen
