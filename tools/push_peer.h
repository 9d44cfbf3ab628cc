// PushPeer: a node that frames are pushed to: what it holds, and what is under way to it.
//
// A daemon may be slow, for instance while it copies large frames from a slow origin. So a
// time limit alone does not make it dead: only if a fresh connection gets no answer either.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/client.h"
#include "bodhi/config.h"
#include "bodhi/frame_set.h"

namespace zazen {

struct OriginFrame {
  FrameSeq seq;
  std::uint64_t bytes;
};

class PushPeer {
 public:
  static constexpr std::size_t kMostOutstanding = 32;

  explicit PushPeer(std::string name);  // "unix:RUNTIME"

  // Connects, and learns which natives of the dataset the node holds.
  Status open(const DatasetConfig& dataset, int timeout_ms);
  // Drops those of the held natives whose origin, below directory_fd, is another file now:
  // a simulation was run again. Needs a node on this machine. Returns how many.
  std::size_t drop_stale(const DatasetConfig& dataset, int directory_fd, bool dry_run);

  Status send(const DatasetConfig& dataset, const OriginFrame& frame, const std::string& name,
              int origin_fd);
  struct Answer {
    OriginFrame frame;
    int status;
  };
  Result<Answer> next_answer();  // only if something is outstanding
  // Closes the connection; what was under way comes back.
  std::vector<OriginFrame> give_up();

  const std::string& name() const { return name_; }
  const FrameSet& natives() const { return natives_; }
  bool connected() const { return client_.has_value(); }
  std::size_t outstanding() const { return under_way_.size(); }

  std::uint64_t pushed = 0;
  bool reachable = false;

 private:
  bool is_alive() const;

  std::string name_;
  std::string runtime_;
  std::optional<Client> client_;
  FrameSet natives_;
  std::map<std::uint64_t, OriginFrame> under_way_;  // by request
};

}  // namespace zazen
