#include "bodhi/writer/write_queue.h"

#include <algorithm>
#include <random>
#include <utility>

namespace zazen {
namespace {

std::uint64_t held_bytes(const QueuedFrame& frame) {
  return WriteQueue::kFrameOverheadBytes +
         (frame.place == FramePlace::kMemory ? frame.size : 0);
}

bool refused(const QueuedFrame& frame, std::size_t node) {
  return std::ranges::find(frame.refused_by, node) != frame.refused_by.end();
}

}  // namespace

Placement::Placement(std::size_t nodes, std::uint64_t seed) : dead_(nodes, false), cursor_(0) {
  if (nodes == 0) return;
  std::mt19937_64 random(seed);
  cursor_ = std::uniform_int_distribution<std::size_t>(0, nodes - 1)(random);
}

std::optional<std::size_t> Placement::next() {
  for (std::size_t tried = 0; tried < dead_.size(); ++tried) {
    std::size_t node = cursor_;
    cursor_ = (cursor_ + 1) % dead_.size();
    if (!dead_[node]) return node;
  }
  return std::nullopt;
}

WriteQueue::WriteQueue(std::size_t nodes, std::uint64_t seed, std::uint64_t memory_limit,
                       bool spools, std::size_t most_homes)
    : placement_(nodes, seed),
      waiting_(nodes + 1),
      dead_(nodes, false),
      on_probation_(nodes, false),
      underway_(nodes, 0),
      most_homes_(most_homes),
      memory_limit_(spools ? memory_limit - memory_limit / 4 : memory_limit),
      read_back_limit_(memory_limit / 4) {}

bool WriteQueue::reserve(std::uint64_t size) {
  std::uint64_t room = memory_limit_ - std::min(memory_limit_, memory_bytes_);
  if (room < kFrameOverheadBytes || room - kFrameOverheadBytes < size) return false;
  memory_bytes_ += kFrameOverheadBytes + size;
  return true;
}

void WriteQueue::unreserve(std::uint64_t size) {
  memory_bytes_ -= kFrameOverheadBytes + size;
}

std::size_t WriteQueue::add(QueuedFrame frame) {
  return place(std::move(frame));
}

std::optional<std::size_t> WriteQueue::home_of(const QueuedFrame& frame) const {
  auto home = homes_.find({frame.dataset, frame.seq});
  if (home == homes_.end() || dead_[home->second] || refused(frame, home->second)) {
    return std::nullopt;
  }
  return home->second;
}

std::optional<std::size_t> WriteQueue::next_in_turn(const QueuedFrame& frame) {
  std::optional<std::size_t> next = placement_.next();
  for (std::size_t i = 1; next && refused(frame, *next); ++i) {
    next = i < dead_.size() ? placement_.next() : std::nullopt;
  }
  return next;
}

void WriteQueue::remember(const QueuedFrame& frame, std::size_t node) {
  const Key key{frame.dataset, frame.seq};
  if (!homes_.insert_or_assign(key, node).second) return;
  homes_by_age_.push_back(key);
  if (homes_by_age_.size() <= most_homes_) return;
  homes_.erase(homes_by_age_.front());
  homes_by_age_.pop_front();
}

std::size_t WriteQueue::place(QueuedFrame frame) {
  std::optional<std::size_t> next = home_of(frame);
  if (!next) next = next_in_turn(frame);
  if (next) remember(frame, *next);
  const std::size_t node = next.value_or(dead_.size());
  if (frame.place == FramePlace::kOrigin) to_read_.insert({frame.dataset, frame.seq});
  Line& line = waiting_[node];
  line.part_for(frame).push_back(std::move(frame));
  if (next && on_probation_[node]) {
    on_probation_[node] = false;
    placement_.mark_dead(node);
  }
  return node;
}

void WriteQueue::place_all(Line line) {
  for (QueuedFrame& frame : line.in_memory) place(std::move(frame));
  for (QueuedFrame& frame : line.elsewhere) place(std::move(frame));
}

bool WriteQueue::may_read_back(std::uint64_t size) const {
  return read_back_bytes_ == 0 || read_back_bytes_ + size <= read_back_limit_;
}

std::optional<QueuedFrame> WriteQueue::take(std::size_t node) {
  Line& line = waiting_[node];
  std::deque<QueuedFrame>& part = line.in_memory.empty() ? line.elsewhere : line.in_memory;
  if (part.empty()) return std::nullopt;
  const bool spooled = part.front().place == FramePlace::kSpool;
  if (spooled && !may_read_back(part.front().size)) return std::nullopt;
  QueuedFrame frame = std::move(part.front());
  part.pop_front();
  if (spooled) read_back_bytes_ += frame.size;
  if (frame.place == FramePlace::kOrigin) to_read_.erase({frame.dataset, frame.seq});
  ++underway_[node];
  return frame;
}

void WriteQueue::rest(std::size_t node, QueuedFrame& frame) {
  --underway_[node];
  if (frame.place != FramePlace::kSpool) return;
  read_back_bytes_ -= frame.size;
  frame.bytes.reset();
}

void WriteQueue::finish(std::size_t node, const QueuedFrame& frame) {
  --underway_[node];
  memory_bytes_ -= held_bytes(frame);
  if (frame.place == FramePlace::kSpool) read_back_bytes_ -= frame.size;
}

void WriteQueue::put_back(std::size_t node, QueuedFrame frame) {
  rest(node, frame);
  waiting_[node].part_for(frame).push_front(std::move(frame));
}

void WriteQueue::retry_later(std::size_t node, QueuedFrame frame) {
  if (dead_[node]) return reassign(node, std::move(frame));
  rest(node, frame);
  waiting_[node].part_for(frame).push_back(std::move(frame));
}

void WriteQueue::reassign(std::size_t node, QueuedFrame frame) {
  rest(node, frame);
  place(std::move(frame));
}

void WriteQueue::mark_dead(std::size_t node) {
  dead_[node] = true;
  on_probation_[node] = false;
  placement_.mark_dead(node);
  place_all(std::exchange(waiting_[node], {}));
}

void WriteQueue::mark_alive(std::size_t node) {
  dead_[node] = false;
  on_probation_[node] = false;
  placement_.mark_alive(node);
  place_all(std::exchange(waiting_.back(), {}));
}

void WriteQueue::put_on_probation(std::size_t node) {
  on_probation_[node] = true;
  placement_.mark_alive(node);
  Line& line = waiting_.back();
  if (line.empty()) return;
  std::deque<QueuedFrame>& homeless = line.in_memory.empty() ? line.elsewhere : line.in_memory;
  QueuedFrame frame = std::move(homeless.front());
  homeless.pop_front();
  place(std::move(frame));
}

bool WriteQueue::has_taker(const QueuedFrame& frame) const {
  for (std::size_t node = 0; node < dead_.size(); ++node) {
    if (!dead_[node] && !refused(frame, node)) return true;
  }
  return false;
}

bool WriteQueue::nobody_answers() const {
  for (std::size_t node = 0; node < dead_.size(); ++node) {
    if (!dead_[node] || !waiting_[node].empty() || underway_[node] > 0) return false;
  }
  return true;
}

std::optional<WriteQueue::ToSpool> WriteQueue::take_for_spool() {
  if (!wants_spool()) return std::nullopt;
  auto longest = std::max_element(waiting_.begin(), waiting_.end(), [](auto& a, auto& b) {
    return a.in_memory.size() < b.in_memory.size();
  });
  if (longest->in_memory.empty()) return std::nullopt;
  ToSpool taken{static_cast<std::size_t>(longest - waiting_.begin()),
                std::move(longest->in_memory.back())};
  longest->in_memory.pop_back();
  return taken;
}

void WriteQueue::return_from_spool(ToSpool taken) {
  if (taken.frame.place == FramePlace::kSpool) {
    memory_bytes_ -= taken.frame.size;
    taken.frame.bytes.reset();
  }
  if (taken.node < dead_.size() && !dead_[taken.node]) {
    waiting_[taken.node].part_for(taken.frame).push_back(std::move(taken.frame));
  } else {
    place(std::move(taken.frame));
  }
}

}  // namespace zazen
