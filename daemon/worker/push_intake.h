// PushIntake: the content of one frame on its way from the network into a file of the cache
// that has no name yet. Its room is reserved, and given by the disk, before the first byte. The
// disk begins to write while the rest still comes, so a large frame does not delay those who read
// others from it all at once.
#pragma once
#include "daemon/worker/push_session.h"

namespace zazen {

class PushIntake {
 public:
  explicit PushIntake(PushDesk& desk) : desk_(desk) {}
  ~PushIntake();

  // Each returns 0 or an errno.
  int begin(std::uint32_t dataset, FrameSeq seq, std::uint64_t bytes);
  int write(const char* bytes, std::size_t size);

  // All is there, and has this checksum. `done` as in PushDesk.
  void finish(std::uint64_t checksum, std::function<void(int status)> done);

 private:
  PushDesk& desk_;
  BeginFill::Reply begun_;
  int failure_ = 0;
  std::uint64_t written_ = 0, handed_on_ = 0;  // to the kernel, and by it to the disk
};

}  // namespace zazen
