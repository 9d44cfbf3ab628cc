// FillThrottle: when the fills of one dataset may fetch from its origin by themselves.
//
// What a program has brought into the page cache a fill takes without asking (see
// page_cache_map.h). What no program has read yet costs the origin's bandwidth, which the
// program may want for something else: while programs read, the fills fetch a piece at a time
// and then rest kRest times as long, so that they have 1/(1 + kRest) of the origin; once
// programs have been quiet for as long, they fetch as fast as they can. A program that comes
// back then waits for the pieces under way at most. There are two other kinds of fetches:
//
//   kAhead  What a program will probably read next (read_ahead.h). A short quiet is enough.
//   kSpare  Of frames of which programs wanted little. They rest also in a quiet: they have
//           1/(1 + kSpareRest) of the origin.
//
// Thread safe. Times are CLOCK_MONOTONIC.
#pragma once
#include <algorithm>
#include <chrono>
#include <mutex>

namespace zazen {

class FillThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Fetch { kCopy, kAhead, kSpare };
  static constexpr int kRest = 20, kAheadRest = 1, kSpareRest = 3;
  static constexpr Clock::duration kShortestPiece = std::chrono::milliseconds(1);
  static constexpr Clock::duration kLongestRest = std::chrono::seconds(5);
  static constexpr Clock::duration kLongestAhead = std::chrono::milliseconds(40);

  void note_reading(Clock::time_point now) {
    std::lock_guard lock(mutex_);
    last_reading_ = std::max(last_reading_, now);
  }
  // True: fetch one piece, then say fetched().
  bool may_fetch(Clock::time_point now, Fetch fetch = Fetch::kCopy) {
    std::lock_guard lock(mutex_);
    const Clock::duration rest = std::min(kRest * piece_, kLongestRest);
    const Clock::duration quiet = now - last_reading_;
    const auto has_rested = [&](Clock::duration least) {
      return fetching_ == 0 && now - last_fetch_ >= least;
    };
    const bool may = fetch == Fetch::kAhead
                         ? quiet >= std::min(kAheadRest * piece_, kLongestAhead)
                     : fetch == Fetch::kSpare ? quiet >= rest && has_rested(kSpareRest * piece_)
                                              : quiet >= rest || has_rested(rest);
    fetching_ += may ? 1 : 0;
    return may;
  }
  void fetched(Clock::time_point began, Clock::time_point now) {
    std::lock_guard lock(mutex_);
    --fetching_;
    last_fetch_ = now;
    // A piece that happened to be there says little about the next.
    piece_ = std::max({now - began, piece_ * 7 / 8, kShortestPiece});
  }

 private:
  std::mutex mutex_;
  Clock::time_point last_reading_ = Clock::now();
  Clock::time_point last_fetch_ = last_reading_;
  Clock::duration piece_ = kShortestPiece;
  int fetching_ = 0;
};

}  // namespace zazen
