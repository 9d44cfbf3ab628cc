// PushIntake: the content of one frame on its way from the network into a file of the cache
// that has no name yet. Its room is reserved, and given by the disk, before the first byte. The
// disk begins to write while the rest still comes: whoever reads other frames from it is not
// held up by a large one all at once.
#pragma once
#include "daemon/filler.h"
#include "daemon/store.h"

namespace zazen {

class PushIntake {
 public:
  explicit PushIntake(Store& store) : store_(store) {}

  // Each returns 0 or an errno.
  int begin(std::uint32_t dataset, std::uint64_t bytes);
  int write(const char* bytes, std::size_t size);

  // All is there, and has this checksum.
  ReceivedContent finish(std::uint64_t checksum);

 private:
  int noted(int code);  // tells the health of the disk

  Store& store_;
  Temporary file_;
  Reservation room_;
  std::uint64_t written_ = 0, handed_on_ = 0;  // to the kernel, and by it to the disk
};

}  // namespace zazen
