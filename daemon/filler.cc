// A request is in exactly one place: in the queue or in a job's followers (both counted by
// held_requests_), or answered. Answers are given without the lock, for they may lead back
// here.
#include "daemon/filler.h"

#include "daemon/adoption.h"
#include "daemon/clock_tick.h"
#include "daemon/log.h"
#include "daemon/origin.h"
#include "daemon/permission.h"
#include "daemon/shortage.h"

namespace zazen {
Filler::Filler(Store& store, YoungCopies& young, std::size_t queue_limit,
               std::function<void()> on_room, std::size_t threads_for_each_dataset)
    : store_(store),
      young_(young),
      queue_limit_(queue_limit),
      on_room_(std::move(on_room)),
      committer_(store),
      threads_(threads_for_each_dataset, WorkQueue::Queued::kDone) {}

bool Filler::submit(FillRequest& request) {
  std::unique_lock lock(mutex_);
  return accept(request, true, lock);
}

void Filler::take(FillRequest request) {
  std::unique_lock lock(mutex_);
  accept(request, false, lock);
}

bool Filler::accept(FillRequest& request, bool bounded, std::unique_lock<std::mutex>& lock) {
  auto answer = [&](int status) {
    std::function<void(int)> done = std::move(request.done);
    origins_.close(request.dataset, std::move(request.origin));
    lock.unlock();
    if (done) done(status);
    lock.lock();
    return true;
  };
  if (stopping_) return answer(ECANCELED);
  auto under_way = in_flight_.find({request.dataset, request.seq});
  bool push = request.kind == FrameKind::kNative;
  if (under_way != in_flight_.end() && !push && !request.done) return answer(0);
  if (bounded && is_full_for(request.dataset)) {
    if (push) {
      refused_ = true;
      return false;
    }
    ++counts_.dropped;
    return answer(EAGAIN);
  }
  Lane& lane = lanes_[request.dataset];
  if (under_way != in_flight_.end()) {
    under_way->second->followers.push_back(std::move(request));
    under_way->second->awaited = true;
  } else {
    auto job = std::make_shared<Job>();
    enqueue(job, request);
    job->request = std::move(request);
    job->awaited = push || job->request.done;
  }
  ++held_requests_;
  ++lane.held_requests;
  return true;
}

// However many origins hang, something is left for the next.
bool Filler::is_full_for(std::uint32_t dataset) {
  return held_requests_ >= queue_limit_ ||
         lanes_[dataset].held_requests > queue_limit_ - held_requests_;
}

// If there is no memory, nothing has changed but that a thread may find nothing to do.
void Filler::enqueue(const JobPointer& job, const FillRequest& request) {
  Lane& lane = lanes_[request.dataset];
  const bool is_received = request.received.has_value();
  if (!is_received || !lane.receiving) {  // or else its thread finds it
    threads_.post(
        request.dataset, [this, &lane] { process_next(lane); }, WorkQueue::kAnyNumber);
  }
  auto place = in_flight_.emplace(Key(request.dataset, request.seq), job).first;
  try {
    (is_received ? lane.received : lane.queue).push_back(job);
  } catch (const std::bad_alloc&) {
    in_flight_.erase(place);
    throw;
  }
  // A program that opens a frame is about to read it.
  if (!is_received) lane.pace.note_reading(FillPace::Clock::now());
}

void Filler::cancel(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard lock(mutex_);
  auto it = in_flight_.find({dataset, seq});
  if (it == in_flight_.end()) return;
  it->second->cancelled->store(true);
  in_flight_.erase(it);  // a later request starts anew
}

FillCounts Filler::counts() const {
  std::lock_guard lock(mutex_);
  FillCounts counts = counts_;
  counts.under_way = in_flight_.size();
  return counts;
}

bool Filler::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  bool ended = threads_.stop(kStopLimit);
  committer_.stop();
  return origins_.stop(kStopLimit) && ended;
}

void Filler::process_next(Lane& lane) {
  std::vector<JobPointer> jobs;
  until_no_shortage([&] { jobs.reserve(kMostTogether); });
  std::unique_lock lock(mutex_);
  for (bool received = true; received;) {
    take_jobs(lane, &jobs);
    if (jobs.empty()) return;
    lock.unlock();
    received = jobs.front()->request.received.has_value();
    received ? process_received(jobs) : process(lane, jobs.front());
    jobs.clear();
    lock.lock();
    if (received) lane.receiving = false;  // and more may have come
  }
}

void Filler::take_jobs(Lane& lane, std::vector<JobPointer>* jobs) {
  if (!lane.received.empty() && !lane.receiving) {
    lane.receiving = true;
    for (; !lane.received.empty() && jobs->size() < kMostTogether; lane.received.pop_front()) {
      jobs->push_back(std::move(lane.received.front()));
    }
  } else if (!lane.queue.empty()) {
    jobs->push_back(std::move(lane.queue.front()));
    lane.queue.pop_front();
  }
}

void Filler::process(Lane& lane, const JobPointer& job) {
  int status = ENOMEM;
  if (stopping_ || job->cancelled->load()) {
    status = ECANCELED;
  } else if (!job->request.is_content) {
    despite_shortage([&] { status = copy(lane, job); });
  } else if (despite_shortage([&] { status = receive(lane, job); }) && status == 0) {
    return process_received(std::span(&job, 1));
  }
  if (status != kCommitting) finish(job, status, false);
}

void Filler::process_received(std::span<const JobPointer> jobs) {
  std::vector<std::shared_ptr<OriginLook>> looks;
  const bool looked = despite_shortage([&] { looks = look_at_origins(jobs); });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    int status = jobs[i]->cancelled->load() ? ECANCELED : ENOMEM;
    if (looked && status != ECANCELED) {
      despite_shortage([&] { status = take_received(jobs[i], *looks[i]); });
    }
    if (status != kCommitting) finish(jobs[i], status, false);
  }
}

int Filler::copy(Lane& lane, const JobPointer& job) {
  const FillRequest& request = job->request;
  struct stat origin = {};
  FinishedCopy finished;
  int code = verify_origin(store_.dataset(request.dataset),
                           store_.name_of(request.dataset, request.seq), request.origin.get(),
                           request.client, &origin,
                           store_.serves_all_users() ? &finished.reached : nullptr);
  if (code == 0 && request.kind == FrameKind::kNative && request.client != nullptr) {
    code = ask_permission(*request.client, Wish::kWrite, store_.dataset(request.dataset));
  }
  if (code != 0) return code;

  if (store_.is_waiting(request.dataset, request.seq)) {
    code = adopt(store_, request.dataset, request.seq, request.origin.get(), request.client,
                 finished.reached);
    if (code == 0 || code == EBUSY || code == EAGAIN) return code;
    // Perhaps it is still being written, on another machine.
    bool may_grow = request.kind == FrameKind::kAlien && changed_lately(origin);
    if (code == ESTALE && may_grow) return EBUSY;
    if (code == ESTALE) store_.drop(request.dataset, std::span(&request.seq, 1));
  }
  // It is compared when the last writer has closed the frame.
  if (request.kind == FrameKind::kAlien && store_.is_suspended(request.dataset, request.seq)) {
    return EBUSY;
  }
  if (std::optional<HeldFrame> held = store_.find(request.dataset, request.seq)) {
    OriginIdentity copy = {};
    if (store_.read_copy_identity(request.dataset, request.seq, &copy) == 0 &&
        same_file(copy, origin)) {
      bool promote = request.kind == FrameKind::kNative && held->kind == FrameKind::kAlien;
      code = promote ? store_.promote(request.dataset, request.seq) : 0;
      if (code != ENOENT) return code;  // or it was evicted just now
    } else {
      // Stale, or its file is gone.
      store_.drop(request.dataset, std::span(&request.seq, 1));
    }
  }

  if (store_.directory_is_full(request.dataset)) return EMLINK;
  // Who pushes a frame has said that it is whole.
  bool fetched = request.kind == FrameKind::kAlien;
  if (fetched && has_writer(request.origin.get())) return EBUSY;
  auto give_up = [&] { return stopping_ || job->cancelled->load(); };
  if (fetched) outwait_clock(origin.st_mtim, give_up);
  // A change of the rights must be seen by its time, too.
  if (store_.serves_all_users()) outwait_clock(origin.st_ctim, give_up);

  std::optional<FrameCopy> copy;
  code = bring(lane, job, origin, &copy, &finished.reservation);
  if (code == 0) code = copy->seal(request.kind);
  if (code != 0) return code;

  if (fetched && changed_lately(origin)) {
    young_.note(request.dataset, request.seq, monotonic_ms());
  }
  finished.bytes = copy->room();
  finished.file = copy->take_file();
  return commit(job, std::move(finished), &origin);
}

int Filler::bring(Lane& lane, const JobPointer& job, const struct stat& origin,
                  std::optional<FrameCopy>* copy, Reservation* room) {
  const FillRequest& request = job->request;
  job->bytes = static_cast<std::uint64_t>(origin.st_size);
  const std::uint64_t needed = room_of(origin);
  // Nobody knows yet whose frame content will be that the origin does not have.
  const uid_t owner = request.is_content ? kNoUser : origin.st_uid;
  *room = store_.reserve(request.dataset, request.kind, needed, request.wanted, owner);
  if (!room->valid()) return room->refusal();
  Temporary file = store_.make_temporary(request.dataset);
  if (file.fd() < 0) return errno;
  copy->emplace(request.origin.get(), origin, std::move(file));
  int code = store_.allocate(request.dataset, request.kind, needed, request.wanted,
                             [&] { return (*copy)->allocate(); });
  if (code != 0) return code;
  if (!(*copy)->has_holes()) room->allocated();
  auto reserve_more = [&](std::uint64_t bytes) {
    room->allocated();
    return store_.reserve_more(*room, request.dataset, request.kind, bytes, request.wanted);
  };
  code = (*copy)->transfer(lane.pace, {[&] { return stopping_ || job->cancelled->load(); },
                                       [&] { return job->awaited.load(); }, reserve_more});
  room->allocated();
  return code;
}

int Filler::commit(const JobPointer& job, FinishedCopy finished, const struct stat* origin) {
  FillRequest& request = job->request;
  finished.dataset = request.dataset;
  finished.seq = request.seq;
  finished.kind = request.kind;
  finished.cancelled = job->cancelled;
  finished.waits = origin == nullptr;
  if (origin != nullptr) finished.owner = origin->st_uid;
  if (origin != nullptr && store_.serves_all_users()) {
    AccessList readers = AccessList::of(*origin, read_acl(request.origin.get()), Right::kRead);
    int code = readers.grant(finished.file.fd(), Right::kRead);
    if (code != 0) return code;
    store_.expect_mirrored(request.dataset, finished.reached);
  }
  if (origin != nullptr) {
    bool fetched = request.kind == FrameKind::kAlien;
    finished.is_current = [this, fetched, index = request.dataset, seq = request.seq,
                           fd = origins_.share(request.dataset, std::move(request.origin)),
                           client = request.client, reached = finished.reached,
                           identity = identity_of(*origin, request.kind, 0)] {
      // It may outlive the job.
      auto question = [fetched, fd, client, reached, identity, dataset = store_.dataset(index),
                       name = store_.name_of(index, seq),
                       all_users = store_.serves_all_users()] {
        struct stat now = {};
        ReachedDirectories still;
        int refused =
            verify_origin(dataset, name, fd->get(), client, &now, all_users ? &still : nullptr);
        if (refused != 0) return refused;
        const bool is_same = same_file(identity, now) && still == reached;
        return is_same && !(fetched && has_writer(fd->get())) ? 0 : ESTALE;
      };
      return origins_.ask(index, std::move(question), kOriginLimit) == 0;
    };
  }
  committer_.enqueue(std::move(finished),
                     [this, job](int status) { finish(job, status, true); });
  return kCommitting;
}

void Filler::finish(const JobPointer& job, int status, bool copied) {
  FillRequest& request = job->request;
  bool push = request.kind == FrameKind::kNative;
  bool usual = status == 0 || status == ECANCELED || is_out_of_room(status) ||
               status == EBUSY || status == EMLINK || status == EAGAIN;
  if (!usual) {
    despite_shortage([&] {
      log_line(LogLevel::kWarn, push ? "push_failed" : "fill_failed",
               {{"dataset", store_.dataset(request.dataset).path},
                {"frame", store_.name_of(request.dataset, request.seq)},
                {"error", std::strerror(status)}});
    });
  }
  bool room = false;
  std::vector<std::function<void(int)>> answers;
  {
    std::unique_lock lock(mutex_);
    until_no_shortage(lock, [&] { answers.reserve(1 + job->followers.size()); });
    auto it = in_flight_.find({request.dataset, request.seq});
    if (it != in_flight_.end() && it->second == job) in_flight_.erase(it);
    if (status == 0 && copied) counts_.bytes += job->bytes;
    if (status != 0) {
      ++counts_.failed;
    } else if (push) {
      ++counts_.pushes;
    } else if (copied) {
      ++counts_.fills;
    }
    answers.push_back(std::move(request.done));
    origins_.close(request.dataset, std::move(request.origin));
    const std::size_t answered = 1 + job->followers.size();
    held_requests_ -= answered;
    lanes_[request.dataset].held_requests -= answered;
    std::vector<FillRequest> followers = std::move(job->followers);
    for (FillRequest& follower : followers) {
      // A push that came during a fill still has to make the copy a native.
      if (follower.kind == FrameKind::kNative) {
        until_no_shortage(lock, [&] { accept(follower, false, lock); });
      } else {
        origins_.close(follower.dataset, std::move(follower.origin));
        answers.push_back(std::move(follower.done));
      }
    }
    room = refused_ && held_requests_ < queue_limit_;
    if (room) refused_ = false;
  }
  for (const std::function<void(int)>& done : answers) {
    if (done) despite_shortage([&] { done(status); });
  }
  if (room) on_room_();
}

}  // namespace zazen
