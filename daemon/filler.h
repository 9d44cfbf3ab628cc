// Filler: brings frames into the store from descriptors that clients hand over, with a few
// threads for each dataset and a bounded queue, of which a dataset may hold as much as it
// leaves free to the others. A frame is copied once, however many ask for it at the same time
// (single flight): later requests follow the one that is under way.
//
// A fill is a favour: when the queue is full, it is dropped and counted. A push is a promise:
// submit() says no, and the caller keeps it until there is room.
//
// An origin that hangs holds up the threads of its dataset and nobody else: what else has to be
// asked of it, or closed, goes through OriginThreads.
//
// Thread safe.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bodhi/unique_fd.h"
#include "daemon/committer.h"
#include "daemon/fill_pace.h"
#include "daemon/frame_copy.h"
#include "daemon/origin_threads.h"
#include "daemon/peer_identity.h"
#include "daemon/store.h"
#include "daemon/young_copies.h"

namespace zazen {

struct ReceivedContent {  // of a push: written to a file that has no name yet
  Temporary file;
  Reservation room;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;   // the same, less the holes
  std::uint64_t checksum = 0;  // XXH3 of all, as the writer says and as it was written
};

struct FillRequest {
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;  // kNative: a push
  Wanted wanted = Wanted::kNow;
  UniqueFd origin;
  bool is_content = false;  // a push of content that the origin may not have yet: of `origin`,
  std::optional<ReceivedContent> received;  // or of this
  Peer client;                              // who asks; null: the daemon's own user
  std::function<void(int status)> done;     // may be empty; called once, on any thread
};

struct FillCounts {
  std::uint64_t fills = 0;   // aliens copied
  std::uint64_t pushes = 0;  // pushes answered with 0
  std::uint64_t dropped = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;      // of the fills and pushes that were copied
  std::uint64_t under_way = 0;  // queued, being copied or being committed
};

class Filler {
 public:
  static constexpr std::size_t kThreads = 8;
  static constexpr std::size_t kMostTogether =
      64;  // received contents, in one look at the origin
  static constexpr std::chrono::milliseconds kStopLimit{2000};
  static constexpr std::chrono::milliseconds kOriginLimit{1000};  // for one look at it

  // `on_room` is called, on any thread, when a queue that was full has room again; `young`
  // has to be told of every fetched copy that is young, before it is published.
  Filler(Store& store, YoungCopies& young, std::size_t queue_limit,
         std::function<void()> on_room, std::size_t threads_for_each_dataset = kThreads);
  ~Filler() { stop(); }

  // False: full; the request is untouched. (Pushes only.)
  bool submit(FillRequest& request);
  // A push of received content, which its receiver has bounded.
  void take(FillRequest request);
  // Whatever is under way for this frame will not be published.
  void cancel(std::uint32_t dataset, FrameSeq seq);
  FillCounts counts() const;
  // For others who ask an origin and may not be held up.
  OriginThreads& origins() { return origins_; }
  // Drops what is queued and what is half copied; commits what is complete. False: a thread is
  // caught in an origin that does not answer; the process must end without destructors.
  bool stop();

 private:
  struct Job {
    FillRequest request;
    std::uint64_t bytes = 0;
    std::atomic<bool> awaited = false;  // somebody waits for the copy
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    std::vector<FillRequest> followers;
  };
  using JobPointer = std::shared_ptr<Job>;
  struct Lane {  // of one dataset
    std::deque<JobPointer> queue;
    std::deque<JobPointer> received;  // pushes whose content is complete: one thread takes all
    bool receiving = false;           // that are there, and another one none meanwhile
    std::size_t held_requests = 0;
    FillPace pace;
  };
  using Key = std::pair<std::uint32_t, FrameSeq>;

  bool accept(FillRequest& request, bool bounded, std::unique_lock<std::mutex>& lock);
  void enqueue(const JobPointer& job, const FillRequest& request);  // mutex_ is held
  bool is_full_for(std::uint32_t dataset);  // mutex_ is held
  void process_next(Lane& lane);
  void take_jobs(Lane& lane, std::vector<JobPointer>* jobs);  // mutex_ is held
  void process(Lane& lane, const JobPointer& job);
  void process_received(std::span<const JobPointer> jobs);
  // 0 or an errno if the job ends here, kCommitting if finish() will be called later.
  int copy(Lane& lane, const JobPointer& job);
  // The bytes of request.origin, whose stat this is, in a file of the cache's.
  int bring(Lane& lane, const JobPointer& job, const struct stat& origin,
            std::optional<FrameCopy>* copy, Reservation* room);
  // `origin` is null if there is none yet.
  int commit(const JobPointer& job, FinishedCopy finished, const struct stat* origin);
  // Of a push whose origin need not be there: filler_content.cc.
  int receive(Lane& lane, const JobPointer& job);
  struct OriginLook;
  std::vector<std::shared_ptr<OriginLook>> look_at_origins(std::span<const JobPointer> jobs);
  int take_received(const JobPointer& job, OriginLook& look);
  bool is_held(const FillRequest& request, const OriginLook& look, int* status);
  void finish(const JobPointer& job, int status, bool copied);

  static constexpr int kCommitting = -1;

  Store& store_;
  YoungCopies& young_;
  const std::size_t queue_limit_;
  const std::function<void()> on_room_;
  OriginThreads origins_;
  Committer committer_;

  mutable std::mutex mutex_;
  std::map<std::uint32_t, Lane> lanes_;
  std::map<Key, JobPointer> in_flight_;  // queued, being copied or being committed
  std::size_t held_requests_ = 0;        // each has a descriptor open
  bool refused_ = false;                 // somebody waits for room
  std::atomic<bool> stopping_ = false;
  FillCounts counts_;
  OriginLanes threads_;
};

}  // namespace zazen
