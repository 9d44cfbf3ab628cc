// A request is in exactly one place: in the queue or in a job's followers (both counted by
// held_requests_), or answered. Answers are given without the lock, for they may lead back
// here.
#include "daemon/worker/fills/filler.h"

#include <fcntl.h>

#include <algorithm>
#include <future>

#include "daemon/origin/adoption.h"
#include "daemon/origin/trust.h"
#include "daemon/process/clock_tick.h"
#include "daemon/process/crash_report.h"
#include "daemon/process/shortage.h"
#include "daemon/worker/origins/origin.h"

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

// Gives the ticket back, unless zazend was told what came of it.
class OpenTicket {
 public:
  OpenTicket(Cache& cache, std::uint64_t ticket) : cache_(cache), ticket_(ticket) {}
  ~OpenTicket() {
    if (ticket_ != 0) until_no_shortage([this] { cache_.abandon_fill({ticket_, ENOMEM}); });
  }
  OpenTicket(const OpenTicket&) = delete;
  OpenTicket& operator=(const OpenTicket&) = delete;
  int abandon(int code) {
    cache_.abandon_fill({ticket_, code});
    finished();
    return code;
  }
  void finished() { ticket_ = 0; }

 private:
  Cache& cache_;
  std::uint64_t ticket_;
};

}  // namespace

Filler::Filler(const Config& config, Cache& cache, std::size_t queue_limit, Hooks hooks,
               std::size_t threads_for_each_dataset)
    : config_(config),
      cache_(cache),
      queue_limit_(queue_limit),
      hooks_(std::move(hooks)),
      threads_for_each_dataset_(threads_for_each_dataset),
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
  const bool is_now = push || request.done || request.is_idle;
  Lane& lane = lanes_[request.dataset];
  if (!is_now) {  // a program that opens a frame is about to read it
    last_miss_ = Clock::now();
    lane.pace.note_reading(last_miss_);
  }
  if (under_way != in_flight_.end() && !push && !request.done) {
    if (!is_now) hasten(lane, *under_way->second, request);
    return answer(0);
  }
  if (bounded && is_full_for(request)) {
    if (push) {
      refused_ = true;
      return false;
    }
    ++dropped_;
    return answer(EAGAIN);
  }
  if (under_way != in_flight_.end()) {
    Job& job = *under_way->second;
    if (job.place) {
      threads_.post(
          request.dataset, [this, &lane] { process_next(lane); }, WorkQueue::kAnyNumber);
    }
    job.followers.push_back(std::move(request));
    job.awaited = true;
    if (job.place) job.place = lane.waiting.move(*job.place, When::kNow, {});
    count_held(job.followers.back(), true);
  } else {
    auto job = std::make_shared<Job>();
    if (request.file != 0) job->note(request.file);
    enqueue(job, request, is_now);
    job->request = std::move(request);
    job->awaited = push || job->request.done;
    count_held(job->request, true);
  }
  return true;
}

// However many origins hang, something is left for the next.
bool Filler::is_full_for(const FillRequest& request) {
  const Lane& lane = lanes_[request.dataset];
  if (request.file != 0) return missed_ >= kMostMissed || lane.missed > kMostMissed - missed_;
  return held_requests_ >= queue_limit_ || lane.held_requests > queue_limit_ - held_requests_;
}

void Filler::count_held(const FillRequest& request, bool comes) {
  Lane& lane = lanes_[request.dataset];
  for (std::size_t* count : {request.file != 0 ? &missed_ : &held_requests_,
                             request.file != 0 ? &lane.missed : &lane.held_requests}) {
    comes ? ++*count : --*count;
  }
}

// If there is no memory, nothing has changed but that a thread may find nothing to do.
void Filler::enqueue(const JobPointer& job, const FillRequest& request, bool is_now) {
  Lane& lane = lanes_[request.dataset];
  if (is_now) {
    threads_.post(
        request.dataset, [this, &lane] { process_next(lane); }, WorkQueue::kAnyNumber);
  }
  auto place = in_flight_.emplace(Key(request.dataset, request.seq), job).first;
  try {
    const Clock::time_point due = is_now ? Clock::time_point() : last_miss_ + Waiting::kQuiet;
    job->place = lane.waiting.add(job, is_now ? When::kNow : When::kSoon, due);
    if (!is_now) wake_clock(due);
  } catch (const std::bad_alloc&) {
    in_flight_.erase(place);
    throw;
  }
}

void Filler::Job::note(std::uint64_t file) {
  const auto known = std::find(files.begin(), files.end() - 1, file);
  std::rotate(files.begin(), known, known + 1);  // or the oldest one goes
  files.front() = file;
}

// The frame was missed once more: it is looked at again.
void Filler::hasten(Lane& lane, Job& job, const FillRequest& missed) {
  if (!job.place) return;
  if (job.request.file != 0 && missed.file != 0) job.note(missed.file);
  if (std::get<When>(*job.place) == When::kNow) return;
  const Clock::time_point due = last_miss_ + Waiting::kQuiet;
  if (std::get<When>(*job.place) == When::kSoon &&
      std::get<Clock::time_point>(*job.place) <= due) {
    return;
  }
  job.share = kNotSeen;
  job.place = lane.waiting.move(*job.place, When::kSoon, due);
  wake_clock(due);
}

// ---- When fills begin

void Filler::wake_clock(Clock::time_point due) {
  if (!clock_.joinable()) {
    // Without a thread the next miss tries again.
    despite_shortage([this] {
      clock_ = std::thread([this] {
        CrashStack crash_stack;
        until_no_shortage([this] { run_clock(); });
      });
    });
  }
  if (due < clock_wakes_) clock_changed_.notify_one();
}

// Sends threads to the lanes in which a fill may begin; they go on as long as one may. The
// longer programs are quiet, the more: one that was only delayed finds few fills at the origin.
void Filler::run_clock() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    clock_wakes_ = Clock::time_point::max();
    for (auto& [dataset, lane] : lanes_) {
      const Clock::time_point next = lane.waiting.next(last_miss_);
      if (next > now) {
        clock_wakes_ = std::min(clock_wakes_, next);
        continue;
      }
      const std::size_t most =
          std::min(threads_for_each_dataset_, lane.following + lane.waiting.size());
      const std::size_t quiet =
          lane.waiting.is_pressed()
              ? most
              : static_cast<std::size_t>((now - last_miss_) / Waiting::kQuiet);
      const std::size_t wanted =
          std::min(most, lane.following + std::max<std::size_t>(quiet, 1));
      if (wanted < most) clock_wakes_ = std::min(clock_wakes_, now + Waiting::kQuiet);
      while (lane.threads < wanted) {
        auto work = [this, &lane = lane] {
          while (process_next(lane)) {
          }
          std::lock_guard again(mutex_);
          --lane.threads;
          clock_changed_.notify_one();
        };
        threads_.post(dataset, work, WorkQueue::kAnyNumber);
        ++lane.threads;
      }
    }
    if (clock_wakes_ == Clock::time_point::max()) {
      clock_changed_.wait(lock);
    } else {
      clock_changed_.wait_until(lock, clock_wakes_);
    }
  }
}

std::uint64_t Filler::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

std::uint64_t Filler::queued() const {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [dataset, lane] : lanes_) sum += lane.waiting.size();
  return sum;
}

std::uint64_t Filler::under_way() const {
  std::lock_guard lock(mutex_);
  return in_flight_.size();
}

bool Filler::stop(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::vector<JobPointer> dropped;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    clock_changed_.notify_one();
    for (auto& [dataset, lane] : lanes_) {
      until_no_shortage(
          lock, [&, &lane = lane] { dropped.reserve(dropped.size() + lane.waiting.size()); });
      while (std::optional<JobPointer> job = lane.waiting.take_any()) {
        (*job)->place.reset();
        dropped.push_back(std::move(*job));
      }
    }
    finishing_ += dropped.size();
  }
  if (clock_.joinable()) clock_.join();
  for (const JobPointer& job : dropped) finish(job, ECANCELED);
  bool ended = threads_.stop(limit);
  {
    std::unique_lock lock(mutex_);
    ended = landed_.wait_until(lock, deadline, [this] { return finishing_ == 0; }) && ended;
  }
  return closes_.stop(limit) && looks_.stop(limit) && ended;
}

bool Filler::process_next(Lane& lane) {
  const Clock::time_point began = Clock::now();
  JobPointer job;
  bool is_counted = false;  // in its lane, as one that nobody waits for
  {
    std::lock_guard lock(mutex_);
    std::optional<JobPointer> next = lane.waiting.take(began, last_miss_);
    if (!next) return false;
    job = std::move(*next);
    is_counted = std::get<When>(*job->place) == When::kSoon;
    if (std::get<When>(*job->place) == When::kIdle) job->is_spare = true;
    job->place.reset();
    ++finishing_;
  }
  bool follows = false;  // what programs read of a large frame: that is no burden to the origin
  auto ended = [&](bool is_followed) {
    std::lock_guard lock(mutex_);
    if (std::exchange(is_counted, false)) {
      lane.waiting.ended(began, Clock::now(), !is_followed);
    }
    if (std::exchange(follows, is_followed) != is_followed) {
      is_followed ? ++lane.following : --lane.following;
    }
    clock_changed_.notify_one();
  };
  int status = ENOMEM;
  if (stopping_) {
    status = ECANCELED;
  } else {
    despite_shortage([&] {
      status = job->request.is_content ? copy_content(lane, job)
                                       : copy(lane, job, [&] { ended(true); });
    });
  }
  ended(false);
  if (status == kPutAside) status = put_aside(lane, job);
  if (status != kFinishing) finish(job, status);
  return true;
}

// Less than half of a large frame is there, and nobody waits for it. A program that goes on
// reading is followed, or given time. After that the frame is looked at once more, and then not
// any more.
bool Filler::is_read_little(Lane& lane, Job& job, int origin, const struct stat& st,
                            const std::function<void()>& follows) {
  if (st.st_size <= kLargeBytes || job.awaited || job.is_spare || job.request.is_idle ||
      job.request.kind == FrameKind::kNative) {
    return false;
  }
  auto may_follow = [&] {
    {
      std::lock_guard lock(mutex_);
      if (2 * lane.following >= threads_for_each_dataset_) return false;
    }
    follows();
    return true;
  };
  auto ends = [&] { return stopping_ || job.awaited; };
  // The next look has a description of its own.
  const bool is_own = job.request.file != 0;
  const double share = is_own ? job.ahead.follow(origin, st, lane.pace, {may_follow, ends}) : 0;
  const double before = std::exchange(job.share, share);
  if (before == kNotSeen) {
    job.until_look = kNextLook;
  } else if (share > before) {
    job.until_look = std::min(2 * job.until_look, kLastLook);
  } else {
    job.until_look = job.until_look < kLastLook ? kLastLook : kNoLook;
  }
  job.mark = file_mark(st);
  return share < 0.5 && !job.awaited;
}

// It keeps no descriptor. kFinishing (it waits again), or why it ends here.
int Filler::put_aside(Lane& lane, const JobPointer& job) {
  std::lock_guard lock(mutex_);
  if (stopping_) return ECANCELED;
  FillRequest& request = job->request;
  const Clock::time_point now = Clock::now();
  if (request.origin.valid()) {
    count_held(request, false);
    close_later(request.dataset, std::move(request.origin));
    request.file = job->mark;
    job->note(request.file);
    count_held(request, true);
  }
  const bool is_looked_at = job->until_look != kNoLook;
  const When when = job->awaited ? When::kNow : is_looked_at ? When::kSoon : When::kIdle;
  const Clock::time_point due = when == When::kSoon ? now + job->until_look : now;
  if (!despite_shortage([&] {
        if (when == When::kNow) {
          threads_.post(
              request.dataset, [this, &lane] { process_next(lane); }, WorkQueue::kAnyNumber);
        }
        job->place = lane.waiting.add(job, when, due);
      })) {
    return ENOMEM;
  }
  if (when != When::kNow) wake_clock(due);
  --finishing_;
  landed_.notify_all();
  return kFinishing;
}

// zazend counts what came to a ticket, and is told of the rest.
int Filler::copy(Lane& lane, const JobPointer& job, const std::function<void()>& follows) {
  const FillRequest& request = job->request;
  const bool all_users = config_.all_users, is_own = request.file != 0;
  BeginFill offer = offer_of(request, job->awaited);
  struct stat& origin = offer.origin.st;
  ReachedDirectories* reached = all_users ? &offer.origin.reached : nullptr;
  UniqueFd opened;
  int code = is_own ? open_missed(dataset_of(request), name_of(request), job->files, &opened,
                                  &origin, reached)
                    : verify_origin(dataset_of(request), name_of(request), request.origin.get(),
                                    &origin, reached);
  const int source = is_own ? opened.get() : request.origin.get();
  if (code == 0 && request.kind == FrameKind::kNative &&
      !hooks_.may_push(request.dataset, name_of(request))) {
    code = EACCES;
  }
  if (code != 0) {
    cache_.note_failed({{request.dataset, request.seq}, request.kind, code});
    return code;
  }
  if (is_read_little(lane, *job, source, origin, follows)) return kPutAside;
  if (origin.st_size > kLargeBytes) follows();
  if (all_users) offer.origin.acl = read_acl(source);
  BeginFill::Reply start;
  code = cache_.begin_fill(offer, &start);
  if (code == EINPROGRESS) {
    code = adopt(job, source, offer);
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
  const std::optional<bool> writer = fetched ? knows_writer(source, is_own) : false;
  if (writer.value_or(false)) code = EBUSY;
  auto give_up = [this] { return stopping_.load(); };
  if (code == 0 && fetched) outwait_clock(origin.st_mtim, give_up);
  // A change of the rights must be seen by its time, too.
  if (code == 0 && all_users) outwait_clock(origin.st_ctim, give_up);
  OpenTicket ticket(cache_, start.ticket);
  FrameCopy copy(source, origin, start.file.get());
  if (code == 0) code = transfer(lane, job, start.ticket, &copy);
  FinishFill finished;
  if (code == 0) code = copy.look_again(&finished.after);
  start.file.reset();
  if (code != 0) return ticket.abandon(code);
  finished.ticket = start.ticket;
  finished.checksum = copy.checksum();
  finished.room = copy.room();
  finished.writers_unknown = !writer.has_value();
  cache_.finish_fill(finished, [this, job](int status) { finish(job, status); });
  ticket.finished();
  return kFinishing;
}

int Filler::transfer(Lane& lane, const JobPointer& job, std::uint64_t ticket, FrameCopy* copy) {
  auto reserve_more = [&](std::uint64_t bytes) { return cache_.more_room({ticket, bytes}); };
  return copy->transfer(
      lane.pace, {[this] { return stopping_.load(); }, [&] { return job->awaited.load(); },
                  reserve_more, job->request.file != 0, job->is_spare});
}

// A native waits for this origin. ESTALE: it is another frame.
int Filler::adopt(const JobPointer& job, int origin, const BeginFill& offer) {
  const FillRequest& request = job->request;
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
  OpenTicket ticket(cache_, start.ticket);
  FrameCopy copy(content, before, start.file.get());
  int code = transfer(lane, job, start.ticket, &copy);
  // An ordinary file may have changed while it was copied.
  struct stat after = {};
  if (code == 0) code = copy.look_again(&after);
  start.file.reset();
  if (code != 0) return ticket.abandon(code);
  FinishContent finished;
  finished.ticket = start.ticket;
  finished.bytes = static_cast<std::uint64_t>(after.st_size);
  finished.checksum = copy.checksum();
  finished.room = copy.room();
  finished.look = look_at(request, finished.bytes);
  compare_digest(content, finished.bytes, finished.look);
  cache_.finish_content(finished, [this, job](int status) { finish(job, status); });
  ticket.finished();
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
    count_held(request, false);
    std::vector<FillRequest> followers = std::move(job->followers);
    for (FillRequest& follower : followers) {
      count_held(follower, false);
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

// Without memory it is closed at once: what ends a job must not fail.
void Filler::close_later(std::uint32_t dataset, UniqueFd fd) {
  if (!fd.valid()) return;
  despite_shortage([&] {
    auto shared = std::make_shared<UniqueFd>(std::move(fd));
    closes_.post(
        dataset, [shared] { shared->reset(); }, WorkQueue::kAnyNumber);
  });
}

std::string Filler::name_of(const FillRequest& request) const {
  char name[kMaxTemplate + 32];
  return {name, dataset_of(request).name.format(request.seq, name, sizeof name)};
}

}  // namespace zazen
