// A request is in exactly one place: in the queue or in a job's followers (both counted by
// held_requests_), or answered. Answers are given without the lock, for they may lead back
// here.
#include "daemon/worker/filler.h"

#include <fcntl.h>

#include <future>

#include "daemon/adoption.h"
#include "daemon/clock_tick.h"
#include "daemon/shortage.h"
#include "daemon/worker/origin.h"
#include "daemon/trust.h"

namespace zazen {
namespace {

// Only a memory file has seals; without them its owner could change it while it is copied.
int check_content(int fd, struct stat* out) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) return EBADF;
  if (::fstat(fd, out) != 0) return errno;
  if (!S_ISREG(out->st_mode)) return EINVAL;
  constexpr int kUnchanging = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kUnchanging) != kUnchanging ? EINVAL : 0;
}

BeginFill offer_of(const FillRequest& request, bool waits) {
  BeginFill offer;
  offer.dataset = request.dataset;
  offer.seq = request.seq;
  offer.kind = request.kind;
  offer.is_idle = request.is_idle;
  offer.is_content = request.is_content;
  offer.waits = waits;
  return offer;
}

}  // namespace

Filler::Filler(const Config& config, Cache& cache, std::size_t queue_limit, Hooks hooks,
               std::size_t threads_for_each_dataset)
    : config_(config),
      cache_(cache),
      queue_limit_(queue_limit),
      hooks_(std::move(hooks)),
      threads_(threads_for_each_dataset, WorkQueue::Queued::kDone) {}

bool Filler::submit(FillRequest& request) {
  std::unique_lock lock(mutex_);
  return accept(request, true, lock);
}

bool Filler::accept(FillRequest& request, bool bounded, std::unique_lock<std::mutex>& lock) {
  auto answer = [&](int status) {
    std::function<void(int)> done = std::move(request.done);
    close_later(request.dataset, std::move(request.origin));
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
    ++dropped_;
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
  threads_.post(
      request.dataset, [this, &lane] { process_next(lane); }, WorkQueue::kAnyNumber);
  auto place = in_flight_.emplace(Key(request.dataset, request.seq), job).first;
  try {
    lane.queue.push_back(job);
  } catch (const std::bad_alloc&) {
    in_flight_.erase(place);
    throw;
  }
  // A program that opens a frame is about to read it.
  lane.pace.note_reading(FillPace::Clock::now());
}

std::uint64_t Filler::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

std::uint64_t Filler::queued() const {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [dataset, lane] : lanes_) sum += lane.queue.size();
  return sum;
}

std::uint64_t Filler::under_way() const {
  std::lock_guard lock(mutex_);
  return in_flight_.size();
}

bool Filler::stop(std::chrono::milliseconds limit) {
  stopping_ = true;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool ended = threads_.stop(limit);
  {
    std::unique_lock lock(mutex_);
    ended = landed_.wait_until(lock, deadline, [this] { return finishing_ == 0; }) && ended;
  }
  return closes_.stop(limit) && looks_.stop(limit) && ended;
}

void Filler::process_next(Lane& lane) {
  JobPointer job;
  {
    std::lock_guard lock(mutex_);
    if (lane.queue.empty()) return;
    job = std::move(lane.queue.front());
    lane.queue.pop_front();
    ++finishing_;
  }
  int status = ENOMEM;
  if (stopping_) {
    status = ECANCELED;
  } else {
    despite_shortage(
        [&] { status = job->request.is_content ? copy_content(lane, job) : copy(lane, job); });
  }
  if (status != kFinishing) finish(job, status);
}

// zazend counts what came to a ticket, and is told of the rest.
int Filler::copy(Lane& lane, const JobPointer& job) {
  const FillRequest& request = job->request;
  const bool all_users = config_.all_users;
  BeginFill offer = offer_of(request, job->awaited);
  struct stat& origin = offer.origin.st;
  int code = verify_origin(dataset_of(request), name_of(request), request.origin.get(), &origin,
                           all_users ? &offer.origin.reached : nullptr);
  if (code == 0 && request.kind == FrameKind::kNative &&
      !hooks_.may_push(request.dataset, name_of(request))) {
    code = EACCES;
  }
  if (code != 0) {
    cache_.note_failed({{request.dataset, request.seq}, request.kind, code});
    return code;
  }
  if (all_users) offer.origin.acl = read_acl(request.origin.get());
  BeginFill::Reply start;
  code = cache_.begin_fill(offer, &start);
  if (code == EINPROGRESS) {
    code = adopt(job, offer);
    if (code != ESTALE) {
      cache_.note_failed({{request.dataset, request.seq}, request.kind, code});
      return code;
    }
    offer.replaces = true;
    code = cache_.begin_fill(offer, &start);
  }
  if (code == EALREADY) return 0;
  if (code != 0 || start.ticket == 0) return code;

  // A push says that the frame is whole.
  bool fetched = request.kind == FrameKind::kAlien;
  const std::optional<bool> writer = fetched ? knows_writer(request.origin.get()) : false;
  if (writer.value_or(false)) code = EBUSY;
  auto give_up = [this] { return stopping_.load(); };
  if (code == 0 && fetched) outwait_clock(origin.st_mtim, give_up);
  // A change of the rights must be seen by its time, too.
  if (code == 0 && all_users) outwait_clock(origin.st_ctim, give_up);
  FrameCopy copy(request.origin.get(), origin, start.file.get());
  if (code == 0) code = transfer(lane, job, start.ticket, &copy);
  FinishFill finished;
  if (code == 0) code = copy.look_again(&finished.after);
  start.file.reset();
  if (code != 0) {
    cache_.abandon_fill({start.ticket, code});
    return code;
  }
  finished.ticket = start.ticket;
  finished.checksum = copy.checksum();
  finished.room = copy.room();
  finished.writers_unknown = !writer.has_value();
  cache_.finish_fill(finished, [this, job](int status) { finish(job, status); });
  return kFinishing;
}

int Filler::transfer(Lane& lane, const JobPointer& job, std::uint64_t ticket,
                     FrameCopy* copy) {
  auto reserve_more = [&](std::uint64_t bytes) { return cache_.more_room({ticket, bytes}); };
  return copy->transfer(lane.pace, {[this] { return stopping_.load(); },
                                    [&] { return job->awaited.load(); }, reserve_more});
}

// A native waits for this origin. ESTALE: it is another frame.
int Filler::adopt(const JobPointer& job, const BeginFill& offer) {
  const FillRequest& request = job->request;
  const int origin = request.origin.get();
  Adopt adopt;
  adopt.dataset = request.dataset;
  adopt.seq = request.seq;
  adopt.origin = offer.origin;
  // A later change of the rights must be seen by its time.
  if (config_.all_users) outwait_clock(offer.origin.st.st_ctim, [] { return false; });
  if (has_writer(origin)) return EBUSY;
  if (::fstat(origin, &adopt.origin.st) != 0) return errno;
  adopt.pages = sample_pages(origin, static_cast<std::uint64_t>(adopt.origin.st.st_size));
  const int code = cache_.adopt(adopt);
  // Perhaps it is still being written, on another machine.
  const bool may_grow = request.kind == FrameKind::kAlien && changed_lately(adopt.origin.st);
  return code == ESTALE && may_grow ? EBUSY : code == ENOENT ? EAGAIN : code;
}

// Content that the origin may not have yet (D9).
int Filler::copy_content(Lane& lane, const JobPointer& job) {
  const FillRequest& request = job->request;
  const int content = request.origin.get();
  BeginFill offer = offer_of(request, true);
  BeginFill::Reply start;
  if (int code = check_content(content, &offer.origin.st); code != 0) {
    cache_.note_failed({{request.dataset, request.seq}, request.kind, code});
    return code;
  }
  if (int code = cache_.begin_fill(offer, &start); code != 0) return code;
  const struct stat& before = offer.origin.st;
  FrameCopy copy(content, before, start.file.get());
  int code = transfer(lane, job, start.ticket, &copy);
  // An ordinary file may have changed while it was copied.
  struct stat after = {};
  if (code == 0) code = copy.look_again(&after);
  start.file.reset();
  if (code != 0) {
    cache_.abandon_fill({start.ticket, code});
    return code;
  }
  FinishContent finished;
  finished.ticket = start.ticket;
  finished.bytes = static_cast<std::uint64_t>(after.st_size);
  finished.checksum = copy.checksum();
  finished.room = copy.room();
  finished.look = look_at(request, finished.bytes);
  compare_digest(content, finished.bytes, finished.look);
  cache_.finish_content(finished, [this, job](int status) { finish(job, status); });
  return kFinishing;
}

// Of an origin that does not answer in time nothing is known.
OriginLook Filler::look_at(const FillRequest& request, std::uint64_t bytes) {
  auto answer = std::make_shared<std::promise<OriginLook>>();
  std::future<OriginLook> look = answer->get_future();
  looks_.post(request.dataset, [answer, bytes, name = name_of(request),
                                dataset = dataset_of(request), all_users = config_.all_users] {
    answer->set_value(look_at_origin(dataset, name, bytes, all_users));
  });
  if (look.wait_for(kLookLimit) != std::future_status::ready) return {};
  return look.get();
}

void Filler::finish(const JobPointer& job, int status) {
  FillRequest& request = job->request;
  bool room = false;
  std::vector<std::function<void(int)>> answers;
  {
    std::unique_lock lock(mutex_);
    until_no_shortage(lock, [&] { answers.reserve(1 + job->followers.size()); });
    auto it = in_flight_.find({request.dataset, request.seq});
    if (it != in_flight_.end() && it->second == job) in_flight_.erase(it);
    answers.push_back(std::move(request.done));
    close_later(request.dataset, std::move(request.origin));
    const std::size_t answered = 1 + job->followers.size();
    held_requests_ -= answered;
    lanes_[request.dataset].held_requests -= answered;
    std::vector<FillRequest> followers = std::move(job->followers);
    for (FillRequest& follower : followers) {
      // A push that came during a fill still has to make the copy a native.
      if (follower.kind == FrameKind::kNative) {
        until_no_shortage(lock, [&] { accept(follower, false, lock); });
      } else {
        close_later(follower.dataset, std::move(follower.origin));
        answers.push_back(std::move(follower.done));
      }
    }
    room = refused_ && held_requests_ < queue_limit_;
    if (room) refused_ = false;
  }
  for (const std::function<void(int)>& done : answers) {
    if (done) despite_shortage([&] { done(status); });
  }
  if (room) hooks_.on_room();
  std::lock_guard lock(mutex_);
  --finishing_;
  landed_.notify_all();
}

void Filler::close_later(std::uint32_t dataset, UniqueFd fd) {
  if (!fd.valid()) return;
  auto shared = std::make_shared<UniqueFd>(std::move(fd));
  closes_.post(
      dataset, [shared] { shared->reset(); }, WorkQueue::kAnyNumber);
}

std::string Filler::name_of(const FillRequest& request) const {
  char name[kMaxTemplate + 32];
  return {name, dataset_of(request).name.format(request.seq, name, sizeof name)};
}

}  // namespace zazen
