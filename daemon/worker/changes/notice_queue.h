// NoticeQueue: the changes that one peer has not been told yet. Newer news of a frame replace
// older ones. With more than kMostFrames in the queue, the dataset that has most of them is
// collapsed into one entry: any of its frames may have changed.
//
// A notice stays in the queue until the peer has answered. It may be sent twice, which does no
// harm. Not thread safe. No input or output.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "bodhi/node/change_notice.h"

namespace zazen {

class NoticeQueue {
 public:
  static constexpr std::size_t kMostFrames = 4'096;

  using Clock = std::chrono::steady_clock;
  struct News {
    FrameVersion version;
    Clock::time_point looked_at;
  };
  struct Batch {
    NoticeKind kind = NoticeKind::kHello;
    std::uint32_t dataset = 0;
    std::vector<std::pair<FrameSeq, News>> frames;
    std::uint64_t generation = 0;  // of kDistrust
  };

  // Queues the greeting, which comes first.
  void greet() { greets_ = true; }
  void add(std::uint32_t dataset, FrameSeq seq, const News& news);
  void distrust(std::uint32_t dataset);
  void clear();

  bool empty() const { return !greets_ && distrusted_.empty() && frames_.empty(); }
  // The number of frames, and of datasets of which any frame may have changed.
  std::size_t waiting() const { return count_ + distrusted_.size(); }
  // The next notice, of at most `most_frames` frames; nothing if the queue is empty.
  std::optional<Batch> next(std::size_t most_frames) const;
  // Removes what the peer has received. Frames that have changed again since then stay.
  void delivered(const Batch& batch);

 private:
  bool greets_ = false;
  // By dataset. The generation grows with each change, so that a change during the transfer is
  // sent in another notice.
  std::map<std::uint32_t, std::uint64_t> distrusted_;
  std::uint64_t last_generation_ = 0;
  std::map<std::uint32_t, std::map<FrameSeq, News>> frames_;  // by dataset; none is empty
  std::size_t count_ = 0;                                     // of the frames
};

}  // namespace zazen
