// WriteQueue: the frames of a writer that wait for a node or are under way to one.
//
// A frame gets its node when it is added (section 3.1 of the paper). It keeps the
// node unless that fails; then it goes to the next one in turn. So the nodes that never fail
// differ by one frame at most. A frame that is written again goes to its previous node, as long
// as that is remembered. So no other node keeps the old content. A failed node is on probation
// when it is tried again: it gets one frame, and more after that has arrived. If no node is
// left, frames wait until there is one.
//
// Memory is bounded. Room is reserved before a frame's bytes are copied, and released when the
// frame is finished or is in the spool. A quarter of the memory is kept for frames that are
// read back from the spool.
//
// No input or output here. Not thread safe; the writer holds its lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/base_types.h"
#include "bodhi/writer/frame_memory.h"

namespace zazen {

enum class FramePlace { kMemory, kSpool, kOrigin };

struct QueuedFrame {
  std::size_t dataset = 0;
  FrameSeq seq = 0;
  FramePlace place = FramePlace::kMemory;
  std::uint64_t size = 0;    // kOrigin: 0, known when it is read
  FrameMemory::Block bytes;  // kSpool: only while it is under way
  std::uint64_t spool_offset = 0;
  std::function<UniqueFd()> open;  // kOrigin: how to open it, if not by its path
  std::uint64_t generation = 0;    // of flushes: which of them wait for this frame
  std::uint32_t losses = 0;        // connections that ended before an answer
  std::uint32_t delays = 0;        // it is being written, or this process is short of something
  std::vector<std::size_t> refused_by;  // nodes that refused it
};

// Chooses the node for the next frame: the first node at random, then its peers in turn. A node
// that is marked dead is skipped. The only state is the cursor, so many writers spread their
// frames evenly without communicating.
class Placement {
 public:
  Placement(std::size_t nodes, std::uint64_t seed);

  // The node for the next frame; nothing if all are marked dead.
  std::optional<std::size_t> next();
  void mark_dead(std::size_t node) { dead_[node] = true; }
  void mark_alive(std::size_t node) { dead_[node] = false; }
  bool is_dead(std::size_t node) const { return dead_[node]; }

 private:
  std::vector<bool> dead_;
  std::size_t cursor_;
};

class WriteQueue {
 public:
  static constexpr std::uint64_t kFrameOverheadBytes = 256;  // of memory, wherever the frame is
  static constexpr std::size_t kMostHomes = 1 << 16;         // 5 MB

  WriteQueue(std::size_t nodes, std::uint64_t seed, std::uint64_t memory_limit, bool spools,
             std::size_t most_homes = kMostHomes);

  // False: there is no room for another frame of this size.
  bool reserve(std::uint64_t size);
  void unreserve(std::uint64_t size);
  // It is queued, and will be read from the origin when its turn comes.
  bool will_read(std::size_t dataset, FrameSeq seq) const {
    return to_read_.contains({dataset, seq});
  }
  // Adds a frame for which room was reserved. Returns its node, or the number of nodes if none
  // answers.
  std::size_t add(QueuedFrame frame);
  // The next frame for this node, under way from then on; it must be finished, put back or
  // passed on.
  std::optional<QueuedFrame> take(std::size_t node);
  void finish(std::size_t node, const QueuedFrame& frame);
  void put_back(std::size_t node, QueuedFrame frame);     // the same node, first in its queue
  void retry_later(std::size_t node, QueuedFrame frame);  // the same node, last in its queue
  void reassign(std::size_t node, QueuedFrame frame);     // the next node in turn
  // Is there a node that answers and has not refused it?
  bool has_taker(const QueuedFrame& frame) const;

  void mark_dead(std::size_t node);  // its frames go to the other nodes
  void mark_alive(std::size_t node);
  void put_on_probation(std::size_t node);
  bool is_dead(std::size_t node) const { return dead_[node]; }
  bool is_on_probation(std::size_t node) const { return on_probation_[node]; }
  bool has_work(std::size_t node) const { return !waiting_[node].empty(); }
  bool wants_spool() const { return memory_bytes_ > memory_limit_ / 2; }
  // No node takes frames, and none is on probation.
  bool nobody_answers() const;

  // The frame that should go to the spool, while memory is more than half full: the last one of
  // the longest queue.
  struct ToSpool {
    std::size_t node;  // or the number of nodes: it has none
    QueuedFrame frame;
  };
  std::optional<ToSpool> take_for_spool();
  void return_from_spool(ToSpool taken);  // whether it was written to the spool or not

  std::uint64_t memory_bytes() const { return memory_bytes_ + read_back_bytes_; }

 private:
  struct Line {
    std::deque<QueuedFrame> in_memory;  // these go first
    std::deque<QueuedFrame> elsewhere;
    bool empty() const { return in_memory.empty() && elsewhere.empty(); }
    std::deque<QueuedFrame>& part_for(const QueuedFrame& frame) {
      return frame.place == FramePlace::kMemory ? in_memory : elsewhere;
    }
  };

  using Key = std::pair<std::size_t, FrameSeq>;  // dataset and frame

  std::size_t place(QueuedFrame frame);
  std::optional<std::size_t> home_of(const QueuedFrame& frame) const;
  std::optional<std::size_t> next_in_turn(const QueuedFrame& frame);
  void remember(const QueuedFrame& frame, std::size_t node);
  void place_all(Line line);
  bool may_read_back(std::uint64_t size) const;
  void rest(std::size_t node, QueuedFrame& frame);  // it is not under way any more

  Placement placement_;
  std::vector<Line> waiting_;  // by node; the last: no node answers
  std::vector<bool> dead_;
  std::vector<bool> on_probation_;     // dead, and may get one frame
  std::vector<std::size_t> underway_;  // frames taken
  std::map<Key, std::size_t> homes_;   // the last node of each frame;
  std::deque<Key> homes_by_age_;       // the oldest are forgotten
  const std::size_t most_homes_;
  std::set<Key> to_read_;  // queued, not yet read from the origin
  std::uint64_t memory_limit_, read_back_limit_;
  std::uint64_t memory_bytes_ = 0;     // reserved or held, without frames read back
  std::uint64_t read_back_bytes_ = 0;  // from the spool, under way
};

}  // namespace zazen
