#include "daemon/worker/changes/write_watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/identity.h"
#include "daemon/process/clock_tick.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/origins/origin.h"
#include "daemon/worker/origins/permission.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSoonMs = 10;

std::string link_to(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

// The frames of one dataset. Its thread owns all of it, except take(), stop() and the queries.
class WriteWatcher::Lane {
 public:
  Lane(std::uint32_t dataset, const DatasetConfig& config, const Hooks& hooks,
       const Limits& limits)
      : dataset_(dataset),
        config_(config),
        hooks_(hooks),
        limits_(limits),
        events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  void take(WrittenFrame frame);
  bool is_open(FrameSeq seq) const;
  std::uint64_t count() const;
  bool is_empty() const;
  std::uint64_t dropped() const { return dropped_; }
  void run();
  void stop();

 private:
  struct Entry {
    dev_t dev = 0;
    ino_t ino = 0;
    UniqueFd file;               // open for reading, while the frame is watched
    int watch = -1;              // -1: it is examined in turns
    bool in_turns = false;       // also true for frames that leases do not cover
    bool changed = false;        // a program said so
    OriginIdentity before = {};  // as it was at the first report of an open
    std::uint64_t opens = 0, closes = 0;
    // For frames that leases do not cover:
    OriginIdentity seen = {};
    Clock::time_point seen_at, heard_at;
    bool pushed = false;  // in the version that was seen
  };
  using Frames = std::map<FrameSeq, Entry>;

  void wait();
  void hear();
  int admit(const WrittenFrame& frame);
  static void note(Entry& entry, const WrittenFrame& frame);
  void watch(FrameSeq seq, Entry& entry, int named);
  void take_events();
  void look_again();
  void take_turn();
  // closed: the kernel has reported that a writer has closed the frame.
  void look(FrameSeq seq, bool closed);
  void guess(Entry& entry, ClosedFrame frame, bool closed);
  void tell(ClosedFrame frame);
  void set_in_turns(Entry& entry, bool in_turns);
  void forget(FrameSeq seq);
  void drop(FrameSeq seq);
  std::string name_of(FrameSeq seq) const;

  const std::uint32_t dataset_;
  const DatasetConfig& config_;
  const Hooks& hooks_;
  const Limits& limits_;
  const UniqueFd events_, wake_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;

  mutable std::mutex mutex_;
  std::deque<WrittenFrame> unheard_;
  Frames frames_;  // only its thread changes the entries

  std::multimap<int, FrameSeq> by_watch_;
  std::size_t in_turns_ = 0;
  std::set<FrameSeq> soon_;  // closed a moment ago; the kernel still counts a writer
  Clock::time_point next_turn_;
};

// ---- Other threads

void WriteWatcher::Lane::take(WrittenFrame frame) {
  std::unique_lock lock(mutex_);
  if (stopping_ || unheard_.size() >= limits_.unheard) {
    lock.unlock();
    drop(frame.seq);
    if (frame.done) frame.done(EAGAIN);
    return;
  }
  unheard_.push_back(std::move(frame));
  ::eventfd_write(wake_.get(), 1);
}

bool WriteWatcher::Lane::is_open(FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  auto found = frames_.find(seq);
  return found != frames_.end() && !found->second.pushed;
}

bool WriteWatcher::Lane::is_empty() const {
  std::lock_guard lock(mutex_);
  return frames_.empty() && unheard_.empty();
}

std::uint64_t WriteWatcher::Lane::count() const {
  std::lock_guard lock(mutex_);
  auto open =
      std::ranges::count(frames_, false, [](auto& frame) { return frame.second.pushed; });
  return static_cast<std::uint64_t>(open) + unheard_.size();
}

void WriteWatcher::Lane::stop() {
  stopping_ = true;
  ::eventfd_write(wake_.get(), 1);
}

void WriteWatcher::Lane::drop(FrameSeq seq) {
  if (!config_.push) return;
  ++dropped_;
  log_line(LogLevel::kWarn, "written_frame_not_pushed",
           {{"dataset", config_.path},
            {"frame", name_of(seq)},
            {"why", "too many are being written"},
            {"hint", "zazenctl push"}});
}

std::string WriteWatcher::Lane::name_of(FrameSeq seq) const {
  char name[kMaxTemplate + 32];
  return {name, config_.name.format(seq, name, sizeof name)};
}

// ---- The dataset's thread

void WriteWatcher::Lane::run() {
  while (!stopping_) {
    const bool is_closing = !soon_.empty();
    wait();
    hear();
    take_events();
    if (is_closing) look_again();
    if (Clock::now() >= next_turn_) take_turn();
  }
}

void WriteWatcher::Lane::wait() {
  using std::chrono::milliseconds;
  const bool has_turns = in_turns_ > 0 || !wake_.valid();
  auto left = std::chrono::ceil<milliseconds>(next_turn_ - Clock::now());
  left = std::clamp(left, milliseconds(0), limits_.turn);
  struct pollfd fds[] = {{wake_.get(), POLLIN, 0}, {events_.get(), POLLIN, 0}};
  int timeout_ms = has_turns ? static_cast<int>(left.count()) : -1;
  if (!soon_.empty()) timeout_ms = std::min(timeout_ms, kSoonMs);
  ::poll(fds, std::size(fds), timeout_ms);
  eventfd_t count;
  ::eventfd_read(wake_.get(), &count);
}

void WriteWatcher::Lane::hear() {
  std::deque<WrittenFrame> heard;
  {
    std::lock_guard lock(mutex_);
    heard.swap(unheard_);
  }
  // A program that opens and closes a frame many times reports each. One look covers all
  // reports.
  std::map<FrameSeq, int> looked;
  std::set<FrameSeq> admitted;
  for (const WrittenFrame& frame : heard) {
    if (stopping_) return;
    auto [status, is_first] = looked.try_emplace(frame.seq);
    if (is_first) {
      status->second = admit(frame);
      if (status->second == 0) admitted.insert(frame.seq);
    } else if (auto known = frames_.find(frame.seq); known != frames_.end()) {
      note(known->second, frame);
    }
    if (frame.done) frame.done(status->second);
  }
  for (FrameSeq seq : admitted) {
    if (!stopping_ && frames_.contains(seq)) look(seq, false);
  }
}

void WriteWatcher::Lane::note(Entry& entry, const WrittenFrame& frame) {
  // A frame that a start has found may still be open somewhere.
  if (frame.news != WrittenFrame::News::kChanged) ++entry.opens;
  if (frame.news == WrittenFrame::News::kChanged) entry.changed = true;
  entry.heard_at = Clock::now();
}

int WriteWatcher::Lane::admit(const WrittenFrame& frame) {
  const std::string name = name_of(frame.seq);
  if (!hooks_.may_change(dataset_, name)) return EACCES;
  UniqueFd named = find_named(config_, name);
  struct stat st = {};
  if (!named.valid() || ::fstat(named.get(), &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return EINVAL;
  auto known = frames_.find(frame.seq);
  if (known != frames_.end()) {
    if (known->second.dev == st.st_dev && known->second.ino == st.st_ino) {
      note(known->second, frame);
      return 0;
    }
    forget(frame.seq);
  }
  if (frames_.size() >= limits_.known) {
    drop(frame.seq);
    return EAGAIN;
  }
  Entry entry;
  note(entry, frame);
  entry.before = identity_of(st, FrameKind::kNative, 0);
  entry.dev = st.st_dev;
  entry.ino = st.st_ino;
  std::unique_lock lock(mutex_);
  Entry& added = frames_.emplace(frame.seq, std::move(entry)).first->second;
  lock.unlock();
  watch(frame.seq, added, named.get());
  return 0;
}

void WriteWatcher::Lane::watch(FrameSeq seq, Entry& entry, int named) {
  if (by_watch_.size() < limits_.watched) {
    entry.watch = ::inotify_add_watch(events_.get(), link_to(named).c_str(),
                                      IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF);
  }
  if (entry.watch < 0) return set_in_turns(entry, true);
  by_watch_.emplace(entry.watch, seq);
  entry.file.reset(::open(link_to(named).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

// A watch is for a file, which may be two frames by two names.
void WriteWatcher::Lane::take_events() {
  alignas(inotify_event) char buffer[16384];
  std::map<FrameSeq, std::uint64_t> closed;
  std::set<FrameSeq> lost;  // frames whose events were lost
  for (;;) {
    ssize_t size = ::read(events_.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    for (const char* at = buffer; at < buffer + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof *event + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [seq, entry] : frames_) {
          if (entry.watch >= 0) lost.insert(seq);
        }
      }
      auto [first, last] = by_watch_.equal_range(event->wd);
      for (; first != last; ++first)
        closed[first->second] += (event->mask & IN_CLOSE_WRITE) != 0 ? 1 : 0;
    }
  }
  for (FrameSeq seq : lost) closed.try_emplace(seq);
  for (const auto& [seq, times] : closed) {
    if (stopping_) return;
    Entry& entry = frames_.at(seq);
    entry.closes += times;
    if (times > 0) entry.heard_at = Clock::now();
    look(seq, times > 0 || lost.contains(seq));
  }
}

void WriteWatcher::Lane::look_again() {
  for (FrameSeq seq : std::exchange(soon_, {})) {
    if (!stopping_ && frames_.contains(seq)) look(seq, false);
  }
}

void WriteWatcher::Lane::take_turn() {
  std::vector<FrameSeq> turn;
  for (const auto& [seq, entry] : frames_) {
    if (entry.in_turns) turn.push_back(seq);
  }
  for (FrameSeq seq : turn) {
    if (stopping_) return;
    look(seq, false);
  }
  next_turn_ = Clock::now() + limits_.turn;
}

void WriteWatcher::Lane::look(FrameSeq seq, bool closed) {
  Entry& entry = frames_.at(seq);
  ClosedFrame frame;
  frame.dataset = dataset_;
  frame.seq = seq;
  frame.epoch = hooks_.epoch(dataset_, seq);
  UniqueFd named = find_named(config_, name_of(seq));
  struct stat& st = frame.origin;
  frame.is_there = named.valid() && ::fstat(named.get(), &st) == 0 && st.st_dev == entry.dev &&
                   st.st_ino == entry.ino;
  if (!frame.is_there) {
    forget(seq);
    return tell(frame);
  }
  UniqueFd opened;
  if (!entry.file.valid()) {
    opened.reset(::open(link_to(named.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  const int file = entry.file.valid() ? entry.file.get() : opened.get();
  std::optional<bool> has_writer = file < 0 ? std::nullopt : knows_writer(file);
  if (has_writer.value_or(false)) {
    // The kernel reports a close a moment before the file counts as closed.
    if (closed) {
      set_in_turns(entry, true);
      soon_.insert(seq);
    }
    return;
  }
  frame.file = file;
  frame.is_there = ::fstat(named.get(), &st) == 0;
  frame.has_changed = !frame.is_there || entry.changed || !same_file(entry.before, st) ||
                      file < 0 || !times_tell_changes(file);
  if (!has_writer && frame.is_there) return guess(entry, frame, closed);
  frame.writers = ClosedFrame::Writers::kNobody;
  const UniqueFd kept = std::move(entry.file);
  forget(seq);
  tell(frame);
}

void WriteWatcher::Lane::guess(Entry& entry, ClosedFrame frame, bool closed) {
  const struct stat& now = frame.origin;
  const FrameSeq seq = frame.seq;
  set_in_turns(entry, true);
  const Clock::time_point time = Clock::now();
  std::unique_lock lock(mutex_);  // for `pushed`
  if (!same_file(entry.seen, now)) {
    entry.seen = identity_of(now, FrameKind::kNative, 0);
    entry.seen_at = time;
    entry.pushed = false;
  }
  const auto rested = time - entry.seen_at;
  const bool due = !entry.pushed && (closed || rested >= limits_.rest);
  if (due) entry.pushed = true;
  frame.is_last_word = !due && entry.pushed && rested >= limits_.memory &&
                       time - entry.heard_at >= limits_.memory;
  lock.unlock();
  if (entry.closes >= entry.opens) frame.writers = ClosedFrame::Writers::kNobodyKnown;
  const bool may_be_restored =
      frame.epoch != 0 && frame.writers == ClosedFrame::Writers::kNobodyKnown;
  const UniqueFd kept = frame.is_last_word ? std::move(entry.file) : UniqueFd();
  if (frame.is_last_word) forget(seq);
  frame.has_changed = frame.has_changed && due;
  if (due || may_be_restored || frame.is_last_word) tell(frame);
}

// A write within the same tick of the clock would look like the version that was pushed.
void WriteWatcher::Lane::tell(ClosedFrame frame) {
  if (frame.is_there) {
    outwait_clock(frame.origin.st_mtim, [this] { return stopping_.load(); });
    outwait_clock(frame.origin.st_ctim, [this] { return stopping_.load(); });
  }
  hooks_.closed(frame);
}

void WriteWatcher::Lane::set_in_turns(Entry& entry, bool in_turns) {
  if (entry.in_turns == in_turns) return;
  entry.in_turns = in_turns;
  in_turns ? ++in_turns_ : --in_turns_;
}

void WriteWatcher::Lane::forget(FrameSeq seq) {
  std::unique_lock lock(mutex_);
  Frames::node_type frame = frames_.extract(seq);
  lock.unlock();
  Entry& entry = frame.mapped();
  set_in_turns(entry, false);
  if (entry.watch < 0) return;
  auto [first, last] = by_watch_.equal_range(entry.watch);
  by_watch_.erase(std::find_if(first, last, [&](auto& pair) { return pair.second == seq; }));
  if (!by_watch_.contains(entry.watch)) ::inotify_rm_watch(events_.get(), entry.watch);
}

// ---- All datasets

WriteWatcher::WriteWatcher(const Config& config, Hooks hooks, Limits limits)
    : config_(config), hooks_(std::move(hooks)), limits_(limits) {}

WriteWatcher::~WriteWatcher() {
  stop(std::chrono::hours(1));
}

void WriteWatcher::take(WrittenFrame frame) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  std::unique_ptr<Lane>& lane = lanes_[frame.dataset];
  if (!lane) {
    auto made =
        std::make_unique<Lane>(frame.dataset, config_.datasets[frame.dataset], hooks_, limits_);
    threads_.post([made = made.get()] { until_no_shortage([made] { made->run(); }); });
    lane = std::move(made);
  }
  Lane& taker = *lane;  // lanes are never removed
  lock.unlock();
  taker.take(std::move(frame));
}

bool WriteWatcher::is_open(std::uint32_t dataset, FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  auto lane = lanes_.find(dataset);
  return lane != lanes_.end() && lane->second->is_open(seq);
}

std::uint64_t WriteWatcher::count() const {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [dataset, lane] : lanes_) {
    if (config_.datasets[dataset].push) sum += lane->count();
  }
  return sum;
}

bool WriteWatcher::is_empty() const {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(lanes_, [](const auto& one) { return one.second->is_empty(); });
}

std::uint64_t WriteWatcher::dropped() const {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [dataset, lane] : lanes_) sum += lane->dropped();
  return sum;
}

bool WriteWatcher::stop(std::chrono::milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [dataset, lane] : lanes_) lane->stop();
  }
  return threads_.stop(limit);
}

}  // namespace zazen
