// ChangingFrames: frames that programs of this node have opened for writing, or changed. It
// looks at each, at once and then several times a second, until the frame rests: nobody writes
// to it any more, and it has not changed for a while. Each version that it finds is told.
//
// The looks are needed because write() makes no call to the daemon. Where the file system tells
// whether there is a writer (a lease is refused), a frame is watched as long as there is one;
// where it does not, until the frame has not changed for Limits::memory.
//
// A thread for each dataset, so that an origin that hangs delays nobody else. Thread safe.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "bodhi/config/config.h"
#include "bodhi/node/change_notice.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

class ChangingFrames {
 public:
  struct Limits {  // of each dataset
    std::size_t frames = 16'384;
    std::chrono::milliseconds first{50}, longest{500};  // between two looks
    std::chrono::milliseconds rest{2'000}, memory{60'000};
  };
  struct Hooks {  // on any thread; must not wait
    std::function<void(std::uint32_t dataset, FrameSeq seq, const FrameVersion& version)> tell;
    // Too many frames at once, or the origin does not let us look: any may have changed.
    std::function<void(std::uint32_t dataset)> distrust;
  };

  ChangingFrames(const Config& config, Hooks hooks, Limits limits);
  ~ChangingFrames();

  // `known`: it has not been changed yet, and this version need not be told.
  void take(std::uint32_t dataset, FrameSeq seq, std::optional<FrameVersion> known = {});
  std::uint64_t count() const;
  // Frames that do not rest yet may change later: their datasets are distrusted. False: a thread
  // is caught in an origin that does not answer.
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
