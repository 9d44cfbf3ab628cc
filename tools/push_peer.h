// PushPeer: a node that frames are pushed to: what it holds, and what is under way to it.
//
// A daemon of this machine may be slow, for instance while it copies large frames from a slow
// origin. So a time limit alone does not make it dead: only if a fresh connection gets no
// answer either. To one on another machine we send the bytes ourselves.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "bodhi/frame_set.h"
#include "bodhi/node_link.h"
#include "tools/origin_frame.h"

namespace zazen {

struct OriginFrame {
  FrameSeq seq;
  std::uint64_t bytes;
};

class PushPeer {
 public:
  static constexpr std::size_t kMostOutstanding = 32;

  PushPeer(std::string name, Credentials credentials);  // "unix:RUNTIME" or "HOST:PORT"

  // Connects, and learns which natives of the dataset the node holds.
  Status open(const DatasetConfig& dataset, int timeout_ms);
  // Drops those of the held natives whose origin, below directory_fd, is another file now:
  // a simulation was run again. Only a node on this machine can tell. Returns how many.
  std::size_t drop_stale(const DatasetConfig& dataset, int directory_fd, bool dry_run);

  Status send(const DatasetConfig& dataset, const OriginFrame& frame, const std::string& name,
              const OpenOriginFrame& opened);
  struct Answer {
    OriginFrame frame;
    int status;
  };
  Result<Answer> next_answer();  // only if something is outstanding
  // Closes the connection; what was under way comes back.
  std::vector<OriginFrame> give_up();

  const std::string& name() const { return name_; }
  const FrameSet& natives() const { return natives_; }
  bool connected() const { return link_ != nullptr; }
  std::size_t outstanding() const { return under_way_.size(); }

  std::uint64_t pushed = 0;
  bool reachable = false;

 private:
  bool is_local() const { return !runtime_.empty(); }
  bool is_alive() const;

  std::string name_;
  std::string runtime_;  // of a node on this machine
  Credentials credentials_;
  std::unique_ptr<NodeLink> link_;
  std::uint64_t last_request_ = 0;
  FrameSet natives_;
  std::map<std::uint64_t, OriginFrame> under_way_;  // by request
};

}  // namespace zazen
