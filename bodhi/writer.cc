#include "bodhi/writer.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <new>
#include <random>
#include <thread>

#include "bodhi/raw_call.h"

namespace zazen {
namespace {

constexpr std::size_t kMostOutstanding = 256;
constexpr std::uint64_t kLargestWindow = 32'000'000;
constexpr int kBeingWritten = EINPROGRESS;  // the end of a frame that is left for now
constexpr std::chrono::milliseconds kFirstBackoff{250}, kLongestBackoff{8'000};
constexpr std::chrono::milliseconds kSpoolPause{2'000};  // after a disk said no
constexpr std::uint32_t kMostLosses = 16;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::milliseconds kLate{1'000};
constexpr std::uint32_t kMostDelays = 100;
constexpr int kLeaveMs = 1'000;  // beyond a call's own limit, for a thread to end

// It is about the node rather than about the frame: the others may do better.
bool node_is_unwell(int status) {
  switch (status) {
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

// It is about this process, at present.
bool is_shortage(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM || code == ETOOMANYREFS;
}

bool is_silence(int code) {
  return code == ETIMEDOUT || code == ECONNREFUSED || code == ECONNRESET || code == EPIPE;
}

// Past a shim, which might give us a copy, and by no link: a daemon that pushes what users
// have written must not be led to what they may not read. -errno if it fails.
int open_frame(const std::string& dataset, const std::string& name) {
  RawFd directory(raw_open(dataset.c_str(), O_PATH | O_DIRECTORY));
  if (!directory.valid()) return directory.get();
  struct open_how how = {};
  how.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(
      raw_call(SYS_openat2, directory.get(), name.c_str(), &how, sizeof how));
}

// Of this thread, so that one that it starts takes no signals of the program's.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Writer::Writer(WriterSettings settings, std::optional<Spool> spool, OnSettled on_settled)
    : settings_(std::move(settings)),
      on_settled_(std::move(on_settled)),
      window_bytes_(
          std::min(kLargestWindow, settings_.memory_bytes / settings_.peers.size() / 2)),
      queue_(settings_.peers.size(), std::random_device{}(), settings_.memory_bytes,
             spool.has_value(), settings_.homes),
      spool_(std::move(spool)) {
  for (const std::string& peer : settings_.peers) {
    nodes_.push_back(std::make_unique<Node>(peer));
    nodes_.back()->backoff = kFirstBackoff;
  }
}

Result<std::shared_ptr<Writer>> Writer::start(WriterSettings settings, OnSettled on_settled) {
  if (settings.peers.empty()) return Error{EINVAL, "no node to push to", {}};
  std::optional<Spool> spool;
  if (!settings.spool.empty()) {
    Result<Spool> opened = Spool::open(settings.spool, settings.spool_bytes);
    if (!opened) return Error{opened.error().code, "spool: " + opened.error().message(), {}};
    spool = std::move(*opened);
  }
  std::shared_ptr<Writer> writer(
      new Writer(std::move(settings), std::move(spool), std::move(on_settled)));
  if (Status started = writer->start_threads(); !started) return started.error();
  return writer;
}

Status Writer::start_threads() {
  Lock lock(mutex_);
  int error = settings_.idle_ms > 0 ? 0 : start_nodes(true);
  if (error == 0 && spool_) error = start_thread([this] { serve_spool(); });
  lock.unlock();
  if (error == 0) return Done{};
  close(0);
  return Error{error, "no thread", {}};
}

int Writer::start_nodes(bool all) {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    Node& node = *nodes_[index];
    if (node.has_thread || !(all || queue_.has_work(index))) continue;
    if (int error = start_thread([this, index] { serve_node(index); })) return error;
    node.has_thread = true;
  }
  return 0;
}

// Detached, and the writer lives as long as any: nobody has to wait for one that hangs.
template <class Work>
int Writer::start_thread(Work work) {
  NoSignals no_signals;
  try {
    std::thread([self = shared_from_this(), work] {
      work();
      Lock at_end(self->mutex_);
      --self->threads_;
      self->settled_.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  ++threads_;
  return 0;
}

// ---- The simulation's side

Result<std::size_t> Writer::dataset_index(const std::string& dataset, FrameSeq seq) const {
  std::string path = dataset;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  for (std::size_t i = 0; i < settings_.datasets.size(); ++i) {
    if (settings_.datasets[i].path != path) continue;
    char name[kMaxTemplate + 32];
    if (settings_.datasets[i].name.format(seq, name, sizeof name) == 0) {
      return Error{
          ENAMETOOLONG, path + ": frame " + std::to_string(seq) + ": the name is too long", {}};
    }
    return i;
  }
  return Error{ENOENT, dataset + ": no dataset of the configuration has this path", {}};
}

std::string Writer::frame_name(const QueuedFrame& frame) const {
  char name[kMaxTemplate + 32];
  return {name, settings_.datasets[frame.dataset].name.format(frame.seq, name, sizeof name)};
}

Status Writer::write(const std::string& dataset, FrameSeq seq,
                     std::span<const std::byte> bytes) {
  Result<std::size_t> index = dataset_index(dataset, seq);
  if (!index) return index.error();
  QueuedFrame frame;
  frame.dataset = *index;
  frame.seq = seq;
  frame.size = bytes.size();

  Lock lock(mutex_);
  if (!admit(frame)) return Done{};
  lock.unlock();
  frame.bytes.reset(new (std::nothrow) std::byte[std::max<std::size_t>(bytes.size(), 1)]);
  if (frame.bytes) std::copy(bytes.begin(), bytes.end(), frame.bytes.get());
  lock.lock();
  if (!frame.bytes) {
    queue_.unreserve(frame.size);
    ++figures_.dropped;
    forget(frame);
    return Done{};
  }
  enqueue(std::move(frame));
  return Done{};
}

Status Writer::write_file(const std::string& dataset, FrameSeq seq) {
  Result<std::size_t> index = dataset_index(dataset, seq);
  if (!index) return index.error();
  QueuedFrame frame;
  frame.dataset = *index;
  frame.seq = seq;
  frame.place = FramePlace::kOrigin;

  Lock lock(mutex_);
  if (queue_.will_read(*index, seq)) return Done{};  // as it will be then
  if (admit(frame)) enqueue(std::move(frame));
  return Done{};
}

bool Writer::admit(QueuedFrame& frame) {
  ++figures_.queued;
  if (queue_.wants_spool()) relieve_memory();
  if (stopping_ || !queue_.reserve(frame.size)) {
    ++figures_.dropped;
    return false;
  }
  frame.generation = generation_;
  ++waiting_by_generation_[generation_];
  return true;
}

// What waits for a node that has been silent for a moment goes to the others, where memory
// would run out before it counts as dead. It is in turn again when it answers.
void Writer::relieve_memory() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    if (queue_.is_dead(i) || node.outstanding.empty() || now - node.heard_at < kLate) continue;
    queue_.mark_dead(i);
    wake_all();
  }
}

void Writer::enqueue(QueuedFrame frame) {
  std::size_t node = queue_.add(std::move(frame));
  wake_idle();
  if (node < nodes_.size()) nodes_[node]->wake.notify_one();
  if (spool_ && queue_.wants_spool()) spooling_.notify_one();
}

bool Writer::await_room(int timeout_ms) {
  Lock lock(mutex_);
  return room_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return stopping_ || !queue_.wants_spool(); });
}

Status Writer::flush(int timeout_ms) {
  Lock lock(mutex_);
  const std::uint64_t generation = generation_++;
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  auto settled = [&] {
    return waiting_by_generation_.empty() || waiting_by_generation_.begin()->first > generation;
  };
  while (!settled()) {
    if (timeout_ms < 0 && queue_.nobody_answers()) break;
    if (timeout_ms < 0) {
      settled_.wait(lock);
    } else if (settled_.wait_until(lock, deadline) == std::cv_status::timeout) {
      break;
    }
  }
  if (settled()) return Done{};
  std::uint64_t left = 0;
  for (const auto& [number, frames] : waiting_by_generation_) {
    if (number <= generation) left += frames;
  }
  bool silence = queue_.nobody_answers();
  return Error{ETIMEDOUT,
               std::to_string(left) + (left == 1 ? " frame is" : " frames are") +
                   " still queued" + (silence ? ": no node answers" : ""),
               {}};
}

bool Writer::close(int timeout_ms, int leave_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  Lock lock(mutex_);
  while (!waiting_by_generation_.empty() && !queue_.nobody_answers()) {
    if (settled_.wait_until(lock, deadline) == std::cv_status::timeout) break;
  }
  stopping_ = true;
  wake_all();
  spooling_.notify_all();
  if (leave_ms < 0) leave_ms = settings_.timeout_ms + kLeaveMs;
  return settled_.wait_for(lock, std::chrono::milliseconds(leave_ms),
                           [this] { return threads_ == 0; });
}

Writer::Figures Writer::figures() {
  Lock lock(mutex_);
  Figures figures = figures_;
  figures.waiting = figures.queued - figures.pushed - figures.dropped - figures.left;
  figures.memory_bytes = queue_.memory_bytes();
  figures.spool_bytes = spool_ ? spool_->used_bytes() : 0;
  return figures;
}

std::optional<Writer::NodeFigures> Writer::node_figures(std::size_t node) {
  Lock lock(mutex_);
  if (node >= nodes_.size()) return std::nullopt;
  NodeFigures figures = nodes_[node]->figures;
  figures.answers = !queue_.is_dead(node);
  return figures;
}

// ---- A node's thread

void Writer::serve_node(std::size_t index) {
  Lock lock(mutex_);
  Node& node = *nodes_[index];
  while (!stopping_) {
    if (node.outstanding.empty() && node.tried && !queue_.has_work(index)) {
      if (!await_turn(index, lock)) break;
      continue;
    }
    if (!node.link && !connect(index, lock)) continue;
    send_waiting(index, lock);
    if (!node.outstanding.empty()) {
      collect_answer(index, lock);
    } else if (Clock::now() < node.pause_until) {
      node.wake.wait_until(lock, node.pause_until);
    } else if (node.link && queue_.has_work(index) && !stopping_) {
      node.wake.wait_for(lock, kPause);  // for memory, to read it back from the spool
    }
  }
  node.has_thread = false;
  const std::unique_ptr<NodeLink> link = std::move(node.link);
  lock.unlock();
}

// Nothing to do. A dead node waits for its time and is then on probation.
bool Writer::await_turn(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  if (!queue_.is_dead(index) || queue_.is_on_probation(index)) {
    if (settings_.idle_ms > 0) {
      const std::chrono::milliseconds limit(settings_.idle_ms);
      return node.wake.wait_for(lock, limit) == std::cv_status::no_timeout ||
             queue_.has_work(index);
    }
    node.wake.wait(lock);
  } else if (Clock::now() < node.retry_at) {
    node.wake.wait_until(lock, node.retry_at);
  } else {
    queue_.put_on_probation(index);
  }
  return true;
}

bool Writer::connect(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  node.tried = true;
  lock.unlock();
  auto link =
      NodeLink::connect(settings_.peers[index], settings_.credentials, settings_.timeout_ms);
  lock.lock();
  if (!link) {
    bury(index, link.error().code);
    return false;
  }
  node.link = std::move(*link);
  return true;
}

void Writer::send_waiting(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  while (!stopping_ && node.outstanding.size() < kMostOutstanding &&
         (node.outstanding.empty() || (node.outstanding_bytes < kLargestWindow &&
                                       node.outstanding_memory < window_bytes_)) &&
         Clock::now() >= node.pause_until) {
    std::optional<QueuedFrame> frame = queue_.take(index);
    if (!frame) return;
    if (node.outstanding.empty()) node.heard_at = Clock::now();
    const std::uint64_t request = node.next_request++;
    Outstanding& outstanding = node.outstanding[request];
    outstanding.frame = std::move(*frame);
    lock.unlock();
    const std::string name = frame_name(outstanding.frame);
    UniqueFd origin;  // handed over or sent when start_push() returns
    Result<PushContent> content = load(outstanding, name, origin);
    Status sent = Done{};
    if (content) {
      outstanding.size = content->size;
      sent = node.link->start_push(request, settings_.datasets[outstanding.frame.dataset].path,
                                   name, *content);
    }
    lock.lock();
    node.outstanding_bytes += outstanding.size;
    node.outstanding_memory += outstanding.memory_bytes();
    if (content && sent) continue;
    const int code = content ? sent.error().code : content.error().code;
    if (content && is_silence(code)) return lose_link(index, sent.error());
    node.outstanding_bytes -= outstanding.size;
    node.outstanding_memory -= outstanding.memory_bytes();
    QueuedFrame refused = std::move(outstanding.frame);
    node.outstanding.erase(request);
    if (is_shortage(code) && ++refused.delays <= kMostDelays) {
      put_off(index, std::move(refused));
    } else if (content) {
      refuse(index, std::move(refused), code);
    } else {
      finish(index, refused, code);  // without content, no node can have it
    }
  }
}

Result<PushContent> Writer::load(Outstanding& outstanding, const std::string& name,
                                 UniqueFd& origin) const {
  QueuedFrame& frame = outstanding.frame;
  const std::string path = settings_.datasets[frame.dataset].path + "/" + name;
  PushContent content;
  struct stat st;
  if (frame.place == FramePlace::kOrigin) {
    if (settings_.is_being_written &&
        settings_.is_being_written(settings_.datasets[frame.dataset].path, frame.seq)) {
      return Error{kBeingWritten, path, {}};
    }
    const int fd = open_frame(settings_.datasets[frame.dataset].path, name);
    if (fd < 0) return Error{-fd, path, {}};
    origin.reset(fd);
    if (raw_fstat(origin.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
      return Error{EINVAL, path, {}};
    }
    content.fd = origin.get();
    content.size = static_cast<std::uint64_t>(st.st_size);
    content.origin = st;
    return content;
  }
  if (frame.place == FramePlace::kSpool) {
    frame.bytes.reset(new (std::nothrow) std::byte[std::max<std::size_t>(frame.size, 1)]);
    if (!frame.bytes) return Error{ENOMEM, path, {}};
    Status read = spool_->read(frame.spool_offset, {frame.bytes.get(), frame.size});
    if (!read) return read.error();
  }
  content.bytes = {frame.bytes.get(), frame.size};
  content.size = frame.size;
  bool is_there =
      raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == frame.size) {
    content.origin = st;
  }
  return content;
}

void Writer::collect_answer(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  lock.unlock();
  Result<PushAnswer> answer = node.link->next_answer();
  lock.lock();
  if (!answer) return lose_link(index, answer.error());
  node.heard_at = Clock::now();
  auto found = node.outstanding.find(answer->request);
  if (found == node.outstanding.end()) return;
  Outstanding outstanding = std::move(found->second);
  node.outstanding.erase(found);
  node.outstanding_bytes -= outstanding.size;
  node.outstanding_memory -= outstanding.memory_bytes();
  if (answer->status == 0) {
    ++node.figures.pushed;
    node.figures.known_at = node.heard_at;
    node.figures.bytes += outstanding.size;
    figures_.bytes += outstanding.size;
    finish(index, outstanding.frame, 0);
    node.once_more = true;
    node.backoff = kFirstBackoff;
    if (queue_.is_dead(index)) {
      queue_.mark_alive(index);
      wake_all();
    }
    return;
  }
  // The daemon has too much to do, or the origin's file is being written, or just was, perhaps
  // while we read it.
  if (answer->status == EAGAIN) return put_off(index, std::move(outstanding.frame));
  if (answer->status == EBUSY || answer->status == ESTALE || answer->status == ECANCELED ||
      answer->status == EBADMSG) {
    if (++outstanding.frame.delays > kMostDelays)
      return finish(index, outstanding.frame, answer->status);
    return put_off(index, std::move(outstanding.frame));
  }
  if (!node_is_unwell(answer->status))
    return refuse(index, std::move(outstanding.frame), answer->status);
  if (!queue_.is_dead(index)) bury(index, answer->status);
  queue_.pass_on(index, std::move(outstanding.frame));
  wake_all();
}

// A connection that ended is made anew, once, before the node counts as dead: a daemon closes
// those that were quiet for long. One that is silent is dead.
void Writer::lose_link(std::size_t index, const Error& error) {
  Node& node = *nodes_[index];
  node.link.reset();
  bool once_more = node.once_more && error.code != ETIMEDOUT && !queue_.is_dead(index);
  node.once_more = false;
  if (!once_more) bury(index, error.code);
  auto outstanding = std::move(node.outstanding);
  node.outstanding.clear();
  node.outstanding_bytes = node.outstanding_memory = 0;
  for (auto& [request, lost] : outstanding) {
    // A frame at which every node hangs up is not for them.
    bool ended = error.code != ETIMEDOUT && ++lost.frame.losses > kMostLosses;
    if (ended) {
      finish(index, lost.frame, error.code);
    } else if (once_more) {
      queue_.put_back(index, std::move(lost.frame));
    } else {
      queue_.pass_on(index, std::move(lost.frame));
    }
  }
  wake_all();
}

void Writer::bury(std::size_t index, int code) {
  Node& node = *nodes_[index];
  node.figures.failure = code;
  node.figures.known_at = Clock::now();
  node.retry_at = node.figures.known_at + node.backoff;
  node.backoff = std::min(2 * node.backoff, kLongestBackoff);
  queue_.mark_dead(index);
  wake_all();
  settled_.notify_all();
}

// This node will not have it; when none will, the push is given up.
void Writer::refuse(std::size_t index, QueuedFrame frame, int status) {
  frame.refused_by.push_back(index);
  if (!queue_.has_taker(frame)) return finish(index, frame, status);
  queue_.pass_on(index, std::move(frame));
  wake_all();
}

void Writer::put_off(std::size_t index, QueuedFrame frame) {
  nodes_[index]->pause_until = Clock::now() + kPause;
  queue_.put_off(index, std::move(frame));
  wake_all();
}

void Writer::finish(std::size_t index, const QueuedFrame& frame, int status) {
  queue_.finish(index, frame);
  if (frame.place == FramePlace::kSpool) {
    spool_->release(frame.spool_offset, frame.size);
    spooling_.notify_one();
    wake_all();  // there is memory again for what is read back
  }
  ++(status == 0               ? figures_.pushed
     : status == kBeingWritten ? figures_.left
                               : figures_.dropped);
  if (on_settled_) on_settled_(settings_.datasets[frame.dataset].path, frame.seq, status);
  if (!queue_.wants_spool()) room_.notify_all();
  forget(frame);
}

void Writer::forget(const QueuedFrame& frame) {
  auto generation = waiting_by_generation_.find(frame.generation);
  if (--generation->second > 0) return;
  waiting_by_generation_.erase(generation);
  settled_.notify_all();
}

// For want of a thread frames wait for the next one that is queued.
void Writer::wake_idle() {
  if (settings_.idle_ms > 0 && !stopping_) start_nodes(false);
}

void Writer::wake_all() {
  wake_idle();
  for (auto& node : nodes_) node->wake.notify_one();
}

// ---- The spool's thread

void Writer::serve_spool() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (!move_to_spool(lock)) spooling_.wait(lock);
  }
}

// False: nothing to do, or nowhere to put it.
bool Writer::move_to_spool(Lock& lock) {
  std::optional<WriteQueue::ToSpool> taken = queue_.take_for_spool();
  if (!taken) return false;
  QueuedFrame& frame = taken->frame;
  std::optional<std::uint64_t> offset = spool_->reserve(frame.size);
  if (!offset) {
    queue_.return_from_spool(std::move(*taken));
    return false;
  }
  lock.unlock();
  Status written = spool_->write(*offset, {frame.bytes.get(), frame.size});
  lock.lock();
  if (written) {
    frame.place = FramePlace::kSpool;
    frame.spool_offset = *offset;
    ++figures_.spooled;
  } else {
    spool_->release(*offset, frame.size);
  }
  queue_.return_from_spool(std::move(*taken));
  wake_all();
  if (!written) spooling_.wait_for(lock, kSpoolPause, [this] { return stopping_; });
  return true;
}

}  // namespace zazen
