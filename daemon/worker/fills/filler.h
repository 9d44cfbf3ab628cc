// Filler: brings frames into the cache, with a few threads for each dataset and a bounded
// queue. It reads a descriptor that a client hands over, or opens a missed frame itself. One
// dataset may use at most half of the free queue space, so a hanging origin cannot fill the
// queue for the others. A frame is copied once, however many programs ask for it at the same
// time: later requests follow the one that is under way.
//
// A fill is a favour: when the queue is full, it is dropped and counted. A push is a promise:
// submit() says no, and the caller keeps it until there is room.
//
// A fill that nobody waits for begins when programs are quiet (waiting_frames.h). Of a large
// frame programs must have read at least half: one that reads headers only causes no transfer
// of whole frames. The filler looks a few times, as long as programs go on reading the frame,
// or follows one and reads ahead of it (read_ahead.h). At most half of the threads do that.
// Then the filler waits until programs have been quiet for long, and fetches the frame at a
// small share.
//
// An origin that hangs blocks the threads of its dataset and nobody else. Thread safe.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "daemon/threads/origin_threads.h"
#include "daemon/worker/cache/cache.h"
#include "daemon/worker/fills/fill_throttle.h"
#include "daemon/worker/fills/frame_copy.h"
#include "daemon/worker/fills/read_ahead.h"
#include "daemon/worker/fills/waiting_frames.h"

namespace zazen {

struct FillRequest {
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;  // kNative: a push
  bool is_idle = false;                // no program waits for it
  UniqueFd origin;
  std::uint64_t file = 0;   // without `origin`: the mark of the file that a program has missed
  bool is_content = false;  // `origin` is content that the origin may not have yet
  std::function<void(int status)> done;  // may be empty; called once, on any thread
};

class Filler {
 public:
  static constexpr std::size_t kThreads = 8;
  static constexpr std::chrono::milliseconds kLookLimit{1000};  // for one look at the origin
  static constexpr std::size_t kMostMissed = 1 << 16;           // they hold no descriptors
  static constexpr off_t kLargeBytes = 1 << 20;

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
  struct Job;
  using JobPointer = std::shared_ptr<Job>;
  using Waiting = WaitingFrames<JobPointer>;
  using When = Waiting::When;
  using Clock = Waiting::Clock;
  struct Job {
    FillRequest request;
    std::atomic<bool> awaited = false;  // somebody waits for the copy
    std::vector<FillRequest> followers;
    std::optional<Waiting::Place> place;  // while it waits
    // Marks of the files that programs have missed, the last one first. In different mount
    // namespaces a frame may be different files.
    std::array<std::uint64_t, 4> files = {};
    void note(std::uint64_t file);
    // Of a large frame:
    ReadAhead ahead;
    double share = kNotSeen;        // that was there at the last look
    Clock::duration until_look{0};  // from that one to the next; max(): none
    std::uint64_t mark = 0;         // of its file
    bool is_spare = false;
  };
  struct Lane {  // of one dataset
    Waiting waiting;
    std::size_t held_requests = 0, missed = 0;
    std::size_t threads = 0;    // that the clock has sent
    std::size_t following = 0;  // large frames under way
    FillThrottle pace;
  };
  using Key = std::pair<std::uint32_t, FrameSeq>;

  bool accept(FillRequest& request, bool bounded, std::unique_lock<std::mutex>& lock);
  // These: mutex_ is held.
  void enqueue(const JobPointer& job, const FillRequest& request, bool is_now);
  void hasten(Lane& lane, Job& job, const FillRequest& missed);
  bool is_full_for(const FillRequest& request);
  void count_held(const FillRequest& request, bool comes);
  void wake_clock(Clock::time_point due);
  void run_clock();
  bool process_next(Lane& lane);  // false: none may begin
  // 0 or an errno if the job ends here, kFinishing if finish() will be called later, kPutAside
  // if it is not yet to begin.
  int copy(Lane& lane, const JobPointer& job, const std::function<void()>& follows);
  bool is_read_little(Lane& lane, Job& job, int origin, const struct stat& st,
                      const std::function<void()>& follows);
  int put_aside(Lane& lane, const JobPointer& job);
  int copy_content(Lane& lane, const JobPointer& job);
  int adopt(const JobPointer& job, int origin, const BeginFill& offer);
  int transfer(Lane& lane, const JobPointer& job, std::uint64_t ticket, FrameCopy* copy);
  OriginLook look_at(const FillRequest& request, std::uint64_t bytes);
  void finish(const JobPointer& job, int status);
  void close_later(std::uint32_t dataset, UniqueFd fd);
  std::string name_of(const FillRequest& request) const;
  const DatasetConfig& dataset_of(const FillRequest& request) const {
    return config_.datasets[request.dataset];
  }

  static constexpr int kFinishing = -1, kPutAside = -2;
  static constexpr double kNotSeen = -1;
  static constexpr Clock::duration kNextLook = std::chrono::milliseconds(40),
                                   kLastLook = std::chrono::seconds(10),
                                   kNoLook = Clock::duration::max();

  const Config& config_;
  Cache& cache_;
  const std::size_t queue_limit_;
  const Hooks hooks_;
  const std::size_t threads_for_each_dataset_;

  mutable std::mutex mutex_;
  std::condition_variable landed_;
  std::map<std::uint32_t, Lane> lanes_;
  std::map<Key, JobPointer> in_flight_;
  std::size_t held_requests_ = 0;  // each has a descriptor open
  std::size_t missed_ = 0;         // those without
  Clock::time_point last_miss_ = Clock::now();
  std::thread clock_;
  std::condition_variable clock_changed_;
  Clock::time_point clock_wakes_ = Clock::time_point::max();
  std::size_t finishing_ = 0;  // zazend commits them
  bool refused_ = false;       // somebody waits for room
  std::uint64_t dropped_ = 0;
  std::atomic<bool> stopping_ = false;
  OriginThreads threads_;
  OriginThreads closes_{1, WorkQueue::Queued::kDone};  // which a file system may delay
  OriginThreads looks_{2};
};

}  // namespace zazen
