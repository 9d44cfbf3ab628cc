#include "bodhi/writer/writer.h"

#include <algorithm>
#include <new>
#include <random>

#include "bodhi/common/no_signals.h"

namespace zazen {
namespace {

constexpr std::chrono::milliseconds kSpoolPause{2'000};  // after an error of the disk
constexpr std::chrono::milliseconds kLate{1'000};
constexpr int kLeaveMs = 1'000;  // beyond a call's own limit, for a thread to end

}  // namespace

Writer::Writer(WriterSettings settings, std::optional<Spool> spool, OnSettled on_settled)
    : settings_(std::move(settings)),
      on_settled_(std::move(on_settled)),
      window_bytes_(
          std::min(kLargestWindow, settings_.memory_bytes / settings_.peers.size() / 2)),
      memory_(settings_.memory_bytes),
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

// The thread shares ownership of the writer, so no caller waits for a thread that hangs.
template <class Work>
int Writer::start_thread(Work work) {
  NoSignals no_signals;
  try {
    threads_.start([self = shared_from_this(), work] { work(); });
  } catch (const std::system_error& error) {
    return error.code().value();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
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
  frame.bytes = memory_.take(bytes.size());
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

Status Writer::write_file(const std::string& dataset, FrameSeq seq,
                          std::function<UniqueFd()> open) {
  Result<std::size_t> index = dataset_index(dataset, seq);
  if (!index) return index.error();
  QueuedFrame frame;
  frame.dataset = *index;
  frame.seq = seq;
  frame.place = FramePlace::kOrigin;
  frame.open = std::move(open);

  Lock lock(mutex_);
  if (queue_.will_read(*index, seq)) return Done{};  // it will be read as it is then
  if (admit(frame)) enqueue(std::move(frame));
  return Done{};
}

bool Writer::will_read(const std::string& dataset, FrameSeq seq) {
  Result<std::size_t> index = dataset_index(dataset, seq);
  Lock lock(mutex_);
  return index && queue_.will_read(*index, seq);
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

// If memory would be full before a silent node counts as dead, moves the node's frames to other
// nodes. The node is used again when it answers.
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

void Writer::stop_sending() {
  Lock lock(mutex_);
  sends_no_more_ = true;
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
  lock.unlock();
  if (leave_ms < 0) leave_ms = settings_.timeout_ms + kLeaveMs;
  return threads_.join_for(std::chrono::milliseconds(leave_ms));
}

Writer::Figures Writer::figures() {
  Lock lock(mutex_);
  threads_.reap();
  wake_idle();  // starts the threads that could not be started last time
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
  figures.under_way = nodes_[node]->outstanding.size();
  return figures;
}

// ---- The spool's thread

void Writer::serve_spool() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (!move_to_spool(lock)) spooling_.wait(lock);
  }
}

// False: there is nothing to move, or no room in the spool.
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
