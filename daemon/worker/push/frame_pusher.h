// FramePusher: a worker as a writer. What programs of this node have written to the origin it
// pushes to the nodes, as libbodhi's writer would: the same peers, placement and limits, no
// spool, for the origin has the frames.
//
// Each dataset has a writer of its own, so that an origin that hangs holds up nobody else's
// pushes. It is made when the first frame is to be pushed, and remains: it knows which node has
// which frame. A reload makes a new one only if that has changed who the peers are or how to
// reach them; the old one sends what it has, and ends when it has nothing or none of its peers
// has answered for kRetiredMs. What it still holds then is dropped, as pushes.
//
// A writer has a thread and a connection for each node that it has sent something to within
// the last kIdleMs; 200 datasets that rest have none. All writers together remember where
// kHomes frames went (80 bytes each), but each at least kFewestHomes.
//
// Thread safe.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "bodhi/writer/writer.h"

namespace zazen {

class FramePusher {
 public:
  static constexpr int kIdleMs = 5'000, kRetiredMs = 60'000;
  static constexpr std::size_t kHomes = 1 << 18, kFewestHomes = 1 << 12;
  using IsBeingWritten = std::function<bool(const std::string& dataset, FrameSeq seq)>;

  FramePusher(const Config& config, std::shared_ptr<KeyRing> key_ring,
              IsBeingWritten is_being_written, int idle_ms = kIdleMs,
              int retired_ms = kRetiredMs);

  // What this user may not read is not pushed, wherever the frame's name leads by then.
  void push(std::uint32_t dataset, FrameSeq seq);
  // A reload: `next` says who the peers are. The key has been read again.
  void renew(const Config& next);
  // To be called about once a second: ends those of before a reload.
  void tick();

  // Of all writers since the daemon started.
  Writer::Figures figures();
  std::vector<Writer::NodeFigures> nodes();  // of the present ones
  // Bounded; what waits is not sent. False: a thread hangs.
  bool stop();

 private:
  using Clock = std::chrono::steady_clock;
  // With mutex_ held:
  Result<std::shared_ptr<Writer>> make_writer(std::uint32_t dataset);
  Writer* writer_of(std::uint32_t dataset);  // null: there can be none
  bool has_room(Writer& writer);
  struct Retired {
    std::shared_ptr<Writer> writer;
    Clock::time_point answered_at;  // by a node; at first when it was retired
    std::optional<Clock::time_point> closed_at;
  };
  void end_retired();
  bool has_ended(Retired& retired);

  const Config& config_;
  const std::shared_ptr<KeyRing> key_ring_;
  const IsBeingWritten is_being_written_;
  const int idle_ms_;
  const std::chrono::milliseconds retired_limit_;
  std::mutex mutex_;
  Config keys_;                                               // where the peers are read,
  std::optional<WriterSettings> settings_;                    // once somebody needs them
  std::string key_;                                           // the newest at that time
  std::map<std::uint32_t, std::shared_ptr<Writer>> writers_;  // by dataset
  std::vector<Retired> retired_;                              // that may have frames to send
  Writer::Figures ended_;                                     // of those that are no more
  bool failed_ = false;                                       // to make one
  bool one_hangs_ = false;                                    // of those that are no more
  bool stopping_ = false;
};

}  // namespace zazen
