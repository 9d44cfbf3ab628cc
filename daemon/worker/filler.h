// Filler: brings frames into the cache from descriptors that clients hand over, with a few
// threads for each dataset and a bounded queue. One dataset may use at most half of the free
// queue space, so a hanging origin cannot fill the queue for the others. A frame is copied once,
// however many programs ask for it at the same time: later requests follow the one that is under
// way.
//
// A fill is a favour: when the queue is full, it is dropped and counted. A push is a promise:
// submit() says no, and the caller keeps it until there is room.
//
// An origin that hangs blocks the threads of its dataset and nobody else. Thread safe.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "bodhi/unique_fd.h"
#include "daemon/origin_lanes.h"
#include "daemon/worker/cache.h"
#include "daemon/worker/fill_pace.h"
#include "daemon/worker/frame_copy.h"

namespace zazen {

struct FillRequest {
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;  // kNative: a push
  bool is_idle = false;                // no program waits for it
  UniqueFd origin;
  bool is_content = false;  // `origin` is content that the origin may not have yet
  std::function<void(int status)> done;  // may be empty; called once, on any thread
};

class Filler {
 public:
  static constexpr std::size_t kThreads = 8;
  static constexpr std::chrono::milliseconds kLookLimit{1000};  // for one look at the origin

  // `may_push`: whether this user may push the frame of that name. `on_room` is called, on any
  // thread, when a queue that was full has room again.
  struct Hooks {
    std::function<bool(std::uint32_t dataset, const std::string& name)> may_push;
    std::function<void()> on_room;
  };
  Filler(const Config& config, Cache& cache, std::size_t queue_limit, Hooks hooks,
         std::size_t threads_for_each_dataset = kThreads);
  // Must not be destroyed while an origin hangs: a worker ends without that.
  ~Filler() { stop(WorkQueue::kForEver); }

  // False: full; the request is untouched. (Pushes only.)
  bool submit(FillRequest& request);
  std::uint64_t dropped() const;  // for want of room
  std::uint64_t queued() const;   // and not begun
  std::uint64_t under_way() const;
  // Drops what is queued and what is half copied, and waits for what zazend commits. False: it
  // takes longer.
  bool stop(std::chrono::milliseconds limit);

 private:
  struct Job {
    FillRequest request;
    std::atomic<bool> awaited = false;  // somebody waits for the copy
    std::vector<FillRequest> followers;
  };
  using JobPointer = std::shared_ptr<Job>;
  struct Lane {  // of one dataset
    std::deque<JobPointer> queue;
    std::size_t held_requests = 0;
    FillPace pace;
  };
  using Key = std::pair<std::uint32_t, FrameSeq>;

  bool accept(FillRequest& request, bool bounded, std::unique_lock<std::mutex>& lock);
  void enqueue(const JobPointer& job, const FillRequest& request);  // mutex_ is held
  bool is_full_for(std::uint32_t dataset);                          // mutex_ is held
  void process_next(Lane& lane);
  // 0 or an errno if the job ends here, kFinishing if finish() will be called later.
  int copy(Lane& lane, const JobPointer& job);
  int copy_content(Lane& lane, const JobPointer& job);
  int adopt(const JobPointer& job, const BeginFill& offer);
  int transfer(Lane& lane, const JobPointer& job, std::uint64_t ticket, FrameCopy* copy);
  OriginLook look_at(const FillRequest& request, std::uint64_t bytes);
  void finish(const JobPointer& job, int status);
  void close_later(std::uint32_t dataset, UniqueFd fd);
  std::string name_of(const FillRequest& request) const;
  const DatasetConfig& dataset_of(const FillRequest& request) const {
    return config_.datasets[request.dataset];
  }

  static constexpr int kFinishing = -1;

  const Config& config_;
  Cache& cache_;
  const std::size_t queue_limit_;
  const Hooks hooks_;

  mutable std::mutex mutex_;
  std::condition_variable landed_;
  std::map<std::uint32_t, Lane> lanes_;
  std::map<Key, JobPointer> in_flight_;
  std::size_t held_requests_ = 0;  // each has a descriptor open
  std::size_t finishing_ = 0;      // zazend commits them
  bool refused_ = false;           // somebody waits for room
  std::uint64_t dropped_ = 0;
  std::atomic<bool> stopping_ = false;
  OriginLanes threads_;
  OriginLanes closes_{1, WorkQueue::Queued::kDone};  // which a file system may delay
  OriginLanes looks_{2};
};

}  // namespace zazen
