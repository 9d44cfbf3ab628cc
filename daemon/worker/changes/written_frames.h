// WrittenFrames: frames that programs of this node have open for writing, until the last of
// them has closed its file. Then a suspended copy is served again or dropped (D25), and a frame
// that has changed is pushed (`push = true`).
//
// The shim says that a frame was opened for writing, renamed into place or changed. That it is
// closed the kernel says, whoever closes it and however his process ends: inotify tells that a
// writer is gone, and a lease, which is refused as long as there is one, that it was the last.
// Where there are no leases (some network file systems) the closings are counted against the
// opens that the shim told of. For a push each closing counts there, and a frame that rests; it
// is watched for a while longer, and pushed again if it has changed. Where no watch is left,
// frames are looked at in turns.
//
// A thread for each dataset, so that an origin that hangs holds up nobody else. Thread safe.
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
  std::function<void(int status)> done;  // may be empty; it is watched, or why not
  enum class News { kChanged, kOpened, kFound } news = News::kChanged;  // kFound: at a start
};

struct ClosedFrame {  // or one that may be
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  // kNobody: a lease says that nobody writes. kNobodyKnown: as many have closed it as are
  // known to have opened it. kPerhaps: it rests, or somebody has closed it.
  enum class Writers { kNobody, kNobodyKnown, kPerhaps } writers = Writers::kPerhaps;
  bool is_there = true;      // false: its name is gone, or another file's
  bool has_changed = true;   // since the first of them opened it, as far as its times tell
  bool is_last_word = true;  // it is watched no longer
  std::uint64_t epoch = 0;   // of a suspended copy, before the writers were asked for
  int file = -1;             // for reading; -1: it cannot be opened
  struct stat origin = {};
};

class WrittenFrames {
 public:
  struct Limits {                   // of each dataset
    std::size_t watched = 1'024;    // each has a descriptor open
    std::size_t known = 1 << 18;    // watched or looked at in turns
    std::size_t unheard = 1 << 17;  // said, and not looked at yet
    std::chrono::milliseconds turn{1'000};
    // Without leases: unchanged for so long is closed, and for so long is forgotten.
    std::chrono::milliseconds rest{3'000}, memory{60'000};
  };
  struct Hooks {  // called on the dataset's thread, which may wait for the origin
    std::function<void(const ClosedFrame&)> closed;
    std::function<std::uint64_t(std::uint32_t dataset, FrameSeq seq)> epoch;
    // Whether this user may say so.
    std::function<bool(std::uint32_t dataset, const std::string& name)> may_change;
  };

  WrittenFrames(const Config& config, Hooks hooks, Limits limits);
  ~WrittenFrames();

  void take(WrittenFrame frame);
  // Somebody writes to it, as far as is known: it will be pushed later.
  bool is_open(std::uint32_t dataset, FrameSeq seq) const;
  // Of datasets that push:
  std::uint64_t count() const;    // of those that are open
  bool is_empty() const;          // no frame of any dataset is watched
  std::uint64_t dropped() const;  // they were too many: these are not pushed
  // False: a thread is caught in an origin that does not answer; the process must end without
  // destructors.
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
