// The node's side of a writer: what the thread of each node does.
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>

#include "bodhi/common/open_beneath.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/writer/writer.h"

namespace zazen {
namespace {

constexpr std::size_t kMostOutstanding = 256;
constexpr int kBeingWritten = EINPROGRESS;  // of a frame that is not pushed while it is written
constexpr std::uint32_t kMostLosses = 16;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::uint32_t kMostDelays = 100;
constexpr std::chrono::milliseconds kLongestBackoff{8'000};

// The error concerns the node rather than the frame: other nodes may succeed.
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

// The error is a temporary shortage in this process.
bool is_shortage(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM || code == ETOOMANYREFS;
}

bool is_silence(int code) {
  return code == ETIMEDOUT || code == ECONNREFUSED || code == ECONNRESET || code == EPIPE;
}

}  // namespace

void Writer::serve_node(std::size_t index) {
  Lock lock(mutex_);
  Node& node = *nodes_[index];
  while (!stopping_) {
    if (node.outstanding.empty() && node.tried && !queue_.has_work(index)) {
      if (!await_turn(index, lock)) break;
      continue;
    }
    if (node.link && node.outstanding.empty() && !settings_.keys->accepts(node.link->key())) {
      std::unique_ptr<NodeLink> ended = std::move(node.link);
      lock.unlock();
      ended.reset();
      lock.lock();
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

// Waits for work. A dead node waits for its retry time and is then on probation.
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
    wake_all();  // a frame that waited for any node may have got another one
  }
  return true;
}

bool Writer::connect(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  node.tried = true;
  lock.unlock();
  auto link = make_link(settings_.peers[index]);
  lock.lock();
  if (!link) {
    mark_dead(index, link.error().code);
    return false;
  }
  node.link = std::move(*link);
  return true;
}

Result<std::unique_ptr<NodeLink>> Writer::make_link(const std::string& peer) const {
  Result<Credentials> credentials = settings_.keys->credentials();
  if (!credentials) return credentials.error();
  auto link = NodeLink::connect(peer, *credentials, settings_.timeout_ms);
  if (link || link.error().code != EACCES || settings_.key_file.empty()) return link;
  // A program may run for longer than a key is valid.
  (void)settings_.keys->read(settings_.key_file,
                             std::chrono::milliseconds(settings_.key_grace_ms));
  Result<Credentials> again = settings_.keys->credentials();
  if (!again || again->key == credentials->key) return link;
  return NodeLink::connect(peer, *again, settings_.timeout_ms);
}

void Writer::send_waiting(std::size_t index, Lock& lock) {
  Node& node = *nodes_[index];
  while (!stopping_ && !sends_no_more_ && node.outstanding.size() < kMostOutstanding &&
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
    UniqueFd origin;  // closed or sent when start_push() has returned
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
      retry_later(index, std::move(refused));
    } else if (content) {
      refuse(index, std::move(refused), code);
    } else {
      finish(index, refused, code);  // without content, no node can have it
    }
  }
}

// Opens the path without following links below the dataset's directory.
UniqueFd Writer::open_by_path(const QueuedFrame& frame, const std::string& name) const {
  RawFd directory(
      raw_open(settings_.datasets[frame.dataset].path.c_str(), O_PATH | O_DIRECTORY));
  errno = directory.valid() ? 0 : -directory.get();
  if (!directory.valid()) return {};
  return open_beneath(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
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
    origin = frame.open ? frame.open() : open_by_path(frame, name);
    if (!origin.valid()) return Error{errno, path, {}};
    if (raw_fstat(origin.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
      return Error{EINVAL, path, {}};
    }
    content.fd = origin.get();
    content.size = static_cast<std::uint64_t>(st.st_size);
    content.origin = st;
    return content;
  }
  if (frame.place == FramePlace::kSpool) {
    frame.bytes = memory_.take(frame.size);
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
  // The daemon is overloaded, or the origin's file is being written or has just been written,
  // perhaps while this process read it.
  if (answer->status == EAGAIN) return retry_later(index, std::move(outstanding.frame));
  if (answer->status == EBUSY || answer->status == ESTALE || answer->status == ECANCELED ||
      answer->status == EBADMSG) {
    if (++outstanding.frame.delays > kMostDelays)
      return finish(index, outstanding.frame, answer->status);
    return retry_later(index, std::move(outstanding.frame));
  }
  if (!node_is_unwell(answer->status))
    return refuse(index, std::move(outstanding.frame), answer->status);
  if (!queue_.is_dead(index)) mark_dead(index, answer->status);
  queue_.reassign(index, std::move(outstanding.frame));
  wake_all();
}

// A connection that ended is made again, once, before the node counts as dead: a daemon closes
// idle connections. A silent node is dead at once.
void Writer::lose_link(std::size_t index, const Error& error) {
  Node& node = *nodes_[index];
  node.link.reset();
  bool once_more = node.once_more && error.code != ETIMEDOUT && !queue_.is_dead(index);
  node.once_more = false;
  if (!once_more) mark_dead(index, error.code);
  auto outstanding = std::move(node.outstanding);
  node.outstanding.clear();
  node.outstanding_bytes = node.outstanding_memory = 0;
  for (auto& [request, lost] : outstanding) {
    // A frame at which every node closes the connection is given up.
    bool ended = error.code != ETIMEDOUT && ++lost.frame.losses > kMostLosses;
    if (ended) {
      finish(index, lost.frame, error.code);
    } else if (once_more) {
      queue_.put_back(index, std::move(lost.frame));
    } else {
      queue_.reassign(index, std::move(lost.frame));
    }
  }
  wake_all();
}

void Writer::mark_dead(std::size_t index, int code) {
  Node& node = *nodes_[index];
  node.figures.failure = code;
  node.figures.known_at = Clock::now();
  node.retry_at = node.figures.known_at + node.backoff;
  node.backoff = std::min(2 * node.backoff, kLongestBackoff);
  queue_.mark_dead(index);
  wake_all();
  settled_.notify_all();
}

// This node refuses the frame. When all nodes do, the push is given up.
void Writer::refuse(std::size_t index, QueuedFrame frame, int status) {
  frame.refused_by.push_back(index);
  if (!queue_.has_taker(frame)) return finish(index, frame, status);
  queue_.reassign(index, std::move(frame));
  wake_all();
}

void Writer::retry_later(std::size_t index, QueuedFrame frame) {
  nodes_[index]->pause_until = Clock::now() + kPause;
  queue_.retry_later(index, std::move(frame));
  wake_all();
}

void Writer::finish(std::size_t index, const QueuedFrame& frame, int status) {
  queue_.finish(index, frame);
  if (frame.place == FramePlace::kSpool) {
    spool_->release(frame.spool_offset, frame.size);
    spooling_.notify_one();
    wake_all();  // memory was released, for frames in the spool
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

// If no thread can be started, frames wait until the next frame is queued or the figures are
// queried.
void Writer::wake_idle() {
  if (settings_.idle_ms > 0 && !stopping_) start_nodes(false);
}

void Writer::wake_all() {
  wake_idle();
  for (auto& node : nodes_) node->wake.notify_one();
}

}  // namespace zazen
