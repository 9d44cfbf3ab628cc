#include "daemon/worker/fills/read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/worker/fills/page_cache_map.h"

namespace zazen {
namespace {

constexpr off_t kPage = 4096;
constexpr off_t kFetchBytes = 256 << 10;
constexpr std::chrono::milliseconds kPause(4);

}  // namespace

double ReadAhead::follow(int fd, const struct stat& st, FillThrottle& pace,
                         const Terms& terms) {
  using Clock = FillThrottle::Clock;
  const PageCacheMap pages(fd, st.st_size);
  auto share_read = [&] {  // what was fetched ahead may be unread
    return pages.share() -
           static_cast<double>(ahead_ - read_) / static_cast<double>(st.st_size);
  };
  double share = share_read();
  if (pages.share() == 1 && (!pages.known() || may_be_hidden(fd, st))) {
    return share_by_reading(fd, st.st_size);
  }
  std::vector<char> piece;
  Clock::time_point moved = Clock::now() - terms.patience;
  for (;;) {
    const Clock::time_point now = Clock::now();
    const off_t left = st.st_size - ahead_;
    if (left <= 0) return 1;  // so half was read
    const bool has_met = marker_ != 0 && pages.run(marker_, kPage) > 0;
    if (has_met || pages.run(ahead_, kPage) > 0) {
      goes_on_ = read_ > 0;
      ahead_ += static_cast<off_t>(pages.run(ahead_, static_cast<std::size_t>(left)));
      if (has_met || marker_ == 0) read_ = has_met ? std::exchange(marker_, 0) : ahead_;
      share = share_read();
      pace.note_reading(moved = now);
      continue;
    }
    if (share >= 0.5 || ahead_ < kHeaderBytes || now - moved >= terms.patience ||
        terms.ends()) {
      return share;
    }
    if (piece.empty()) {
      if (!terms.may_follow()) return share;
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);  // so many bytes, and none behind them
      piece.resize(kFetchBytes);
    }
    if (marker_ == 0 && 2 * (ahead_ - read_) >= read_) {
      marker_ = ahead_;
      ahead_ += kPage;
    }
    const off_t wanted = std::min({2 * read_ - ahead_, kFetchBytes, left});
    if (goes_on_ && wanted > 0 && pace.may_fetch(now, FillThrottle::Fetch::kAhead)) {
      const ssize_t got = ::pread(fd, piece.data(), static_cast<std::size_t>(wanted), ahead_);
      pace.fetched(now, Clock::now());
      if (got <= 0) return share;
      ahead_ += got;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace zazen
