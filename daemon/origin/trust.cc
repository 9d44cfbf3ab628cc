#include "daemon/origin/trust.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>

namespace zazen {
namespace {

constexpr std::int64_t kAgainMs = 2'000;

std::size_t place_of(DoubtCause cause) {
  return static_cast<std::size_t>(std::countr_zero<std::uint32_t>(cause));
}

bool is_young(const timespec& change) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return (now.tv_sec - change.tv_sec) * 1000 < kYoungMs;
}

}  // namespace

bool changed_lately(const struct stat& file) {
  return is_young(file.st_mtim);
}

bool was_touched_lately(const struct stat& file) {
  return is_young(file.st_ctim);
}

Trust::Trust(Mark mark) : mark_(std::move(mark)), open_(kMaxDatasets) {
  for (auto& causes : open_) {
    for (Reasons& reasons : causes) reasons.reserve(1);
  }
}

std::uint32_t Trust::doubts(std::uint32_t dataset) const {
  std::uint32_t bits = 0;
  for (DoubtCause cause : {kStale, kUnwatched, kYoung}) {
    if (!open_[dataset][place_of(cause)].empty()) bits |= cause;
  }
  return bits;
}

void Trust::doubt(std::uint32_t dataset, DoubtCause cause, FrameSeq frame,
                  std::int64_t now_ms) {
  std::lock_guard lock(mutex_);
  Reasons& reasons = open_[dataset][place_of(cause)];
  const bool is_whole = cause != kYoung || reasons.size() >= kMostYoung;
  if (is_whole) reasons.clear();
  reasons.push_back({++epoch_, is_whole ? std::nullopt : std::optional(frame),
                     now_ms + (cause == kYoung ? kYoungMs : 0)});
  mark_(dataset, doubts(dataset));
  if (cause == kUnwatched) doubted_.notify_all();
}

bool Trust::is_in_doubt(std::uint32_t dataset) const {
  std::lock_guard lock(mutex_);
  return (doubts(dataset) & ~std::uint32_t{kYoung}) != 0;
}

std::optional<Trust::Due> Trust::due(std::uint32_t dataset, DoubtCause cause,
                                     std::int64_t now_ms) const {
  std::lock_guard lock(mutex_);
  return find_due(dataset, cause, now_ms);
}

std::optional<Trust::Due> Trust::find_due(std::uint32_t dataset, DoubtCause cause,
                                          std::int64_t now_ms) const {
  Due due{dataset, cause, 0, false, {}};
  for (const Reason& reason : open_[dataset][place_of(cause)]) {
    if (reason.due_ms > now_ms) break;
    due.epoch = reason.epoch;
    reason.frame ? due.frames.push_back(*reason.frame) : void(due.is_whole = true);
  }
  return due.epoch == 0 ? std::nullopt : std::optional(std::move(due));
}

std::optional<Trust::Due> Trust::await_unwatched(std::int64_t until_ms, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::int64_t now_ms = monotonic_ms();
    std::int64_t first_ms = std::numeric_limits<std::int64_t>::max();
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
      const Reasons& reasons = open_[i][place_of(kUnwatched)];
      if (reasons.empty() || reasons[0].due_ms >= first_ms) continue;
      first = i;
      first_ms = reasons[0].due_ms;
    }
    if (first_ms <= now_ms) return find_due(first, kUnwatched, now_ms);
    if (until_ms <= now_ms) break;
    doubted_.wait_for(lock, stop,
                      std::chrono::milliseconds(std::min(first_ms, until_ms) - now_ms),
                      [&, known = epoch_] { return epoch_ != known; });
  }
  return std::nullopt;
}

void Trust::clear(const Due& done) {
  std::lock_guard lock(mutex_);
  std::erase_if(open_[done.dataset][place_of(done.cause)],
                [&](const Reason& reason) { return reason.epoch <= done.epoch; });
  mark_(done.dataset, doubts(done.dataset));
}

void Trust::try_again(const Due& failed) {
  std::lock_guard lock(mutex_);
  for (Reason& reason : open_[failed.dataset][place_of(failed.cause)]) {
    if (reason.epoch <= failed.epoch) reason.due_ms = monotonic_ms() + kAgainMs;
  }
}

}  // namespace zazen
