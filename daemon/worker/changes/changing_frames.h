// ChangingFrames: frames that programs of this node have opened for writing, or changed. It
// examines each of them at once and then several times a second. That ends when no program
// writes to the frame and it has not changed for a while. It reports each version that it
// finds.
//
// This is needed because write() makes no call to the daemon. Some file systems tell whether
// there is a writer (a lease is refused). There a frame is watched as long as there is one,
// elsewhere until it has not changed for Limits::memory.
//
// Each dataset has a thread, so that a hanging origin delays nobody else. Thread safe.
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
  struct Hooks {  // called on any thread; they must not wait
    std::function<void(std::uint32_t dataset, FrameSeq seq, const FrameVersion& version)> tell;
    // There are too many frames, or the origin does not answer: any frame may have changed.
    std::function<void(std::uint32_t dataset)> distrust;
  };

  ChangingFrames(const Config& config, Hooks hooks, Limits limits);
  ~ChangingFrames();

  // `known`: the version before any change, which the peers need not be told.
  void take(std::uint32_t dataset, FrameSeq seq, std::optional<FrameVersion> known = {});
  std::uint64_t count() const;
  // Frames that may still change are a reason to distrust their datasets. False: a thread is
  // blocked by an origin that does not answer.
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
