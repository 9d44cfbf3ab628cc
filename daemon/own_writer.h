// OwnWriter: the daemon as a writer. What programs of this node have written to the origin it
// pushes to the nodes, as libbodhi's writer would: the same peers, placement and limits, no
// spool, for the origin has the frames.
//
// The writer is made when the first frame is to be pushed, and anew after a reload; the old one
// sends what it has. Thread safe.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "bodhi/writer.h"

namespace zazen {

class OwnWriter {
 public:
  using IsBeingWritten = std::function<bool(const std::string& dataset, FrameSeq seq)>;

  OwnWriter(const Config& config, IsBeingWritten is_being_written);

  void push(std::uint32_t dataset, FrameSeq seq);
  // A reload: `next` says who the peers are.
  void renew(const Config& next);

  // Of all writers since the daemon started.
  Writer::Figures figures();
  std::vector<Writer::NodeFigures> nodes();  // of the present one
  // Bounded; what waits is not sent. False: a thread hangs.
  bool stop();

 private:
  Result<std::shared_ptr<Writer>> make_writer() const;
  Writer* present();  // mutex_ is held; null: there can be none
  void retire();      // mutex_ is held

  const Config& config_;
  const IsBeingWritten is_being_written_;
  std::mutex mutex_;
  Config keys_;  // where peers and credentials are read
  std::shared_ptr<Writer> writer_;
  std::vector<std::shared_ptr<Writer>> retired_;  // that may have frames to send
  Writer::Figures ended_;                         // of those that had none
  bool failed_ = false;                           // to make one
  bool stopping_ = false;
};

}  // namespace zazen
