// PushPeer: a node to which frames are pushed, and the frames that it holds already.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "bodhi/config/config.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/push/key_ring.h"
#include "bodhi/push/node_link.h"

namespace zazen {

class PushPeer {
 public:
  // "unix:RUNTIME" or "HOST:PORT". The key has been read.
  PushPeer(std::string name, std::shared_ptr<KeyRing> keys);

  // Asks which natives of the dataset the node holds.
  Status open(const DatasetConfig& dataset, int timeout_ms);
  // Drops held natives whose origin, below directory_fd, is another file: a simulation was run
  // again. Only a node on this machine can tell. Returns how many.
  std::size_t drop_stale(const DatasetConfig& dataset, int directory_fd, bool dry_run);

  const std::string& name() const { return name_; }
  const std::shared_ptr<KeyRing>& keys() const { return keys_; }
  const FrameSet& natives() const { return natives_; }
  bool takes_frames() const { return takes_frames_; }  // of the dataset that was asked for

  std::uint64_t pushed = 0;
  bool reachable = false;

 private:
  bool is_local() const { return !runtime_.empty(); }

  std::string name_;
  std::string runtime_;  // of a node on this machine
  std::shared_ptr<KeyRing> keys_;
  bool takes_frames_ = false;
  FrameSet natives_;
};

}  // namespace zazen
