// WriteWatcher: frames that programs of this node have open for writing, until the last
// program has closed its file. Then a suspended copy is served again or dropped (D25), and a
// frame that has changed is pushed (`push = true`).
//
// The shim reports that a frame was opened for writing, renamed into place or changed. The
// kernel reports the close, for every process and however it ends. inotify says that a writer
// has closed the file. A lease, which is refused while there is a writer, says that it was the
// last one.
//
// Some network file systems have no leases. There the closes are counted against the opens that
// the shim reported. A push starts there after each close, and when a frame has not changed for
// a while. The frame is watched for some time longer, and pushed again if it has changed. When
// no inotify watch is left, frames are examined in turns.
//
// Each dataset has a thread, so that a hanging origin delays nobody else. Thread safe.
#pragma once
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "bodhi/config/config.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

struct WrittenFrame {
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  std::function<void(int status)> done;  // may be empty; 0: the frame is watched, or an errno
  enum class News { kChanged, kOpened, kFound } news = News::kChanged;  // kFound: at a start
};

struct ClosedFrame {  // a frame without writers, or perhaps without
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  // kNobody: a lease says that there is no writer. kNobodyKnown: there were as many closes as
  // known opens. kPerhaps: the frame has not changed for a while, or a writer has closed it.
  enum class Writers { kNobody, kNobodyKnown, kPerhaps } writers = Writers::kPerhaps;
  bool is_there = true;      // false: its name is gone, or names another file
  bool has_changed = true;   // since the first open for writing, as far as its times tell
  bool is_last_word = true;  // it is not watched after this
  std::uint64_t epoch = 0;   // of a suspended copy, read before the writers were checked
  int file = -1;             // for reading; -1: it cannot be opened
  struct stat origin = {};
};

class WriteWatcher {
 public:
  struct Limits {                   // of each dataset
    std::size_t watched = 1'024;    // each has a descriptor open
    std::size_t known = 1 << 18;    // watched or examined in turns
    std::size_t unheard = 1 << 17;  // reported and not examined yet
    std::chrono::milliseconds turn{1'000};
    // Without leases: a frame that is unchanged for `rest` counts as closed, and after `memory`
    // it is forgotten.
    std::chrono::milliseconds rest{3'000}, memory{60'000};
  };
  struct Hooks {  // called on the dataset's thread, which may wait for the origin
    std::function<void(const ClosedFrame&)> closed;
    std::function<std::uint64_t(std::uint32_t dataset, FrameSeq seq)> epoch;
    // True if this user may report changes of the frame.
    std::function<bool(std::uint32_t dataset, const std::string& name)> may_change;
  };

  WriteWatcher(const Config& config, Hooks hooks, Limits limits);
  ~WriteWatcher();

  void take(WrittenFrame frame);
  // True if a program writes to the frame, as far as is known: it will be pushed later.
  bool is_open(std::uint32_t dataset, FrameSeq seq) const;
  // For datasets that push:
  std::uint64_t count() const;    // frames that are open
  bool is_empty() const;          // no frame of any dataset is watched
  std::uint64_t dropped() const;  // beyond the limits: these are not pushed
  // False: a thread is blocked by an origin that does not answer. The process must then end
  // without destructors.
  bool stop(std::chrono::milliseconds limit);

 private:
  class Lane;

  const Config& config_;
  const Hooks hooks_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::unique_ptr<Lane>> lanes_;  // by dataset
  bool stopping_ = false;
  WorkQueue threads_{WorkQueue::OnDemand{kMaxDatasets}};
};

}  // namespace zazen
