#include "daemon/worker/changes/changing_frames.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <set>
#include <string>

#include "bodhi/lean/frames/identity.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/origins/origin.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

// The least time between two looks at frames that do not change, for all of them together.
// Where nobody can tell whether there is a writer, there may be thousands of them.
constexpr std::chrono::milliseconds kBetweenLooks{5};

// The frame's version. Nothing, with errno, if it cannot be known.
std::optional<FrameVersion> version_of(const DatasetConfig& dataset, const UniqueFd& named) {
  struct stat st = {};
  if (!named.valid()) {
    const int code = errno;
    // A file system that is not mounted proves nothing.
    struct stat directory = {};
    bool gone = (code == ENOENT || code == ENOTDIR || code == ELOOP) &&
                ::stat(dataset.path.c_str(), &directory) == 0;
    errno = code;
    if (!gone) return std::nullopt;
    return FrameVersion{.gone = true};
  }
  if (::fstat(named.get(), &st) != 0) return std::nullopt;
  if (!S_ISREG(st.st_mode)) return FrameVersion{.gone = true};
  return FrameVersion{false, static_cast<std::uint64_t>(st.st_size), to_ns(st.st_mtim),
                      to_ns(st.st_ctim)};
}

}  // namespace

// The frames of one dataset.
class ChangingFrames::Lane {
 public:
  Lane(std::uint32_t dataset, const DatasetConfig& config, const Hooks& hooks,
       const Limits& limits)
      : dataset_(dataset), config_(config), hooks_(hooks), limits_(limits) {}

  void take(FrameSeq seq, std::optional<FrameVersion> known);
  std::uint64_t count() const;
  void run();
  void stop();

 private:
  struct Entry {
    std::optional<FrameVersion> told;
    Clock::time_point due, changed_at;
    std::chrono::milliseconds pause;
    bool reported = false;  // reported again during a look
  };

  void look(FrameSeq seq);
  bool rests(const Entry& entry, const UniqueFd& named, bool is_known) const;
  std::chrono::milliseconds longest_pause(const Entry& entry) const;

  const std::uint32_t dataset_;
  const DatasetConfig& config_;
  const Hooks& hooks_;
  const Limits& limits_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_ = false;
  std::map<FrameSeq, Entry> frames_;  // only its thread removes frames
  std::set<std::pair<Clock::time_point, FrameSeq>> by_due_;
  bool overflowed_ = false;  // a frame was refused, and the peers do not know it
  Clock::time_point distrusted_at_;
};

void ChangingFrames::Lane::take(FrameSeq seq, std::optional<FrameVersion> known) {
  const Clock::time_point now = Clock::now();
  std::lock_guard lock(mutex_);
  wake_.notify_one();
  if (!frames_.contains(seq) && frames_.size() >= limits_.frames) {
    overflowed_ = true;
    return;
  }
  auto [found, is_new] = frames_.try_emplace(seq);
  Entry& entry = found->second;
  if (is_new) entry.told = known;
  by_due_.erase({entry.due, seq});
  by_due_.emplace(now, seq);
  entry.due = entry.changed_at = now;
  entry.pause = limits_.first;
  entry.reported = true;
}

std::uint64_t ChangingFrames::Lane::count() const {
  std::lock_guard lock(mutex_);
  return frames_.size();
}

void ChangingFrames::Lane::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_one();
}

void ChangingFrames::Lane::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (overflowed_ && Clock::now() - distrusted_at_ >= limits_.longest) {
      overflowed_ = false;
      distrusted_at_ = Clock::now();
      lock.unlock();
      hooks_.distrust(dataset_);
      lock.lock();
    } else if (by_due_.empty()) {
      wake_.wait(lock);
    } else if (const auto [due, seq] = *by_due_.begin(); due > Clock::now()) {
      wake_.wait_until(lock, due);
    } else {
      lock.unlock();
      look(seq);
      lock.lock();
    }
  }
}

void ChangingFrames::Lane::look(FrameSeq seq) {
  std::unique_lock lock(mutex_);
  Entry entry = frames_.at(seq);
  frames_.at(seq).reported = false;
  lock.unlock();
  char text[kMaxTemplate + 32];
  const std::string name(text, config_.name.format(seq, text, sizeof text));
  const UniqueFd named = find_named(config_, name);
  const std::optional<FrameVersion> version = version_of(config_, named);
  if (stopping_) return;
  const Clock::time_point now = Clock::now();
  const bool is_news = version && version != entry.told;
  if (is_news) {
    hooks_.tell(dataset_, seq, *version);
    entry.told = version;
    entry.changed_at = now;
    entry.pause = limits_.first;
  } else {
    entry.pause = 2 * entry.pause;
  }
  const bool ends = rests(entry, named, version.has_value());
  lock.lock();
  Entry& present = frames_.at(seq);
  by_due_.erase({present.due, seq});
  if (ends && !present.reported) {
    frames_.erase(seq);
    lock.unlock();
    if (!version) hooks_.distrust(dataset_);
    return;
  }
  present.told = entry.told;
  if (!present.reported) {
    present.changed_at = entry.changed_at;
    present.pause = std::min(entry.pause, longest_pause(entry));
  }
  present.due = present.reported ? now : now + present.pause;
  by_due_.emplace(present.due, seq);
}

// The caller holds mutex_.
std::chrono::milliseconds ChangingFrames::Lane::longest_pause(const Entry& entry) const {
  const bool is_hot = Clock::now() - entry.changed_at < limits_.rest;
  const auto fair_share = kBetweenLooks * static_cast<int>(frames_.size());
  return is_hot ? limits_.longest : std::max(limits_.longest, fair_share);
}

bool ChangingFrames::Lane::rests(const Entry& entry, const UniqueFd& named,
                                 bool is_known) const {
  // A program that makes the frame again reports it.
  if (is_known && entry.told->gone) return true;
  const auto quiet = Clock::now() - entry.changed_at;
  if (quiet < limits_.rest) return false;
  if (!is_known) return true;
  const std::string link = "/proc/self/fd/" + std::to_string(named.get());
  UniqueFd file(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::optional<bool> has_writer = file.valid() ? knows_writer(file.get()) : std::nullopt;
  return has_writer ? !*has_writer : quiet >= limits_.memory;
}

// ---- All datasets

ChangingFrames::ChangingFrames(const Config& config, Hooks hooks, Limits limits)
    : config_(config), hooks_(std::move(hooks)), limits_(limits) {}

ChangingFrames::~ChangingFrames() {
  stop(std::chrono::hours(1));
}

void ChangingFrames::take(std::uint32_t dataset, FrameSeq seq,
                          std::optional<FrameVersion> known) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  std::unique_ptr<Lane>& lane = lanes_[dataset];
  if (!lane) {
    auto made = std::make_unique<Lane>(dataset, config_.datasets[dataset], hooks_, limits_);
    threads_.post([made = made.get()] { until_no_shortage([made] { made->run(); }); });
    lane = std::move(made);
  }
  lane->take(seq, known);
}

std::uint64_t ChangingFrames::count() const {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [dataset, lane] : lanes_) sum += lane->count();
  return sum;
}

bool ChangingFrames::stop(std::chrono::milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [dataset, lane] : lanes_) {
      if (!stopping_ && lane->count() > 0) hooks_.distrust(dataset);
      lane->stop();
    }
    stopping_ = true;
  }
  return threads_.stop(limit);
}

}  // namespace zazen
