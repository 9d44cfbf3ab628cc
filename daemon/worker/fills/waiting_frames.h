// WaitingFrames: the fills of one dataset that have not begun, and when each may begin.
//
//   kNow    Somebody waits for the copy.
//   kSoon   A program has missed the frame. Its own requests come first: the fill begins when
//           this user's programs have missed nothing for kQuiet. While they go on, one fill at
//           a time may begin, and then none for kRest times as long: fills have a small share.
//           If more than kMostWaiting wait, they begin at once: the queue would lose some.
//   kIdle   A large frame of which programs have read little. It begins when they have missed
//           nothing for kIdleQuiet.
//
// Not thread safe. Times are CLOCK_MONOTONIC.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace zazen {

template <class Job>
class WaitingFrames {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  static constexpr Clock::duration kQuiet = std::chrono::milliseconds(30);
  static constexpr Clock::duration kIdleQuiet = std::chrono::seconds(10);
  static constexpr Clock::duration kLongestRest = std::chrono::seconds(5);
  static constexpr int kRest = 20;
  static constexpr std::size_t kMostWaiting = 1 << 14;

  enum class When { kNow, kSoon, kIdle };
  using Place = std::tuple<When, Time, std::uint64_t>;  // the second: not before

  Place add(Job job, When when, Time due) {
    const Place place(when, due, next_++);
    jobs_.emplace(place, std::move(job));
    return place;
  }
  // Needs no memory.
  Place move(const Place& from, When when, Time due) {
    auto node = jobs_.extract(from);
    node.key() = Place(when, due, next_++);
    return jobs_.insert(std::move(node)).position->first;
  }

  // The next one that may begin, if the last miss was then. ended() follows each take() of
  // kSoon.
  std::optional<Job> take(Time now, Time last_miss) {
    for (When when : {When::kNow, When::kSoon, When::kIdle}) {
      if (begin_of(when, last_miss) > now) continue;
      if (when == When::kSoon) ++under_way_;
      auto first = first_of(when);
      Job job = std::move(first->second);
      jobs_.erase(first);
      return job;
    }
    return std::nullopt;
  }
  // A fill that is no burden to the origin needs no rest.
  void ended(Time began, Time now, bool rests) {
    --under_way_;
    if (rests) rested_ = now + std::min(kRest * (now - began), kLongestRest);
  }
  // Any one, for a stop.
  std::optional<Job> take_any() {
    if (jobs_.empty()) return std::nullopt;
    return std::move(jobs_.extract(jobs_.begin()).mapped());
  }

  // When the next one may begin; Time::max(): none, or after an ended().
  Time next(Time last_miss) const {
    return std::min({begin_of(When::kNow, last_miss), begin_of(When::kSoon, last_miss),
                     begin_of(When::kIdle, last_miss)});
  }
  std::size_t size() const { return jobs_.size(); }
  bool is_pressed() const { return jobs_.size() > kMostWaiting; }

 private:
  using Jobs = std::map<Place, Job>;

  typename Jobs::const_iterator first_of(When when) const {
    return jobs_.lower_bound(Place(when, Time::min(), 0));
  }
  typename Jobs::iterator first_of(When when) {
    return jobs_.lower_bound(Place(when, Time::min(), 0));
  }
  Time begin_of(When when, Time last_miss) const {
    const auto first = first_of(when);
    if (first == jobs_.end() || std::get<When>(first->first) != when) return Time::max();
    if (when == When::kNow) return Time::min();
    if (when == When::kIdle) return last_miss + kIdleQuiet;
    if (is_pressed()) return Time::min();
    const Time quiet = last_miss + kQuiet;
    return std::max(std::get<Time>(first->first),
                    under_way_ == 0 ? std::min(quiet, rested_) : quiet);
  }

  Jobs jobs_;
  std::uint64_t next_ = 0;
  std::size_t under_way_ = 0;  // of kSoon
  Time rested_ = Time::min();
};

}  // namespace zazen
