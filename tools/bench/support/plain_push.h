// The baseline of pushes. The sender only loops sendfile over one connection. The receiver is a
// process of its own. It only writes each frame to a file without a name, and commits batches
// of them with the flushes of the daemon's store.
//
// The order of the flushes is the store's: the data, the names, a record in a log; what
// arrives during a flush is the next batch. So an acknowledged frame is as durable as a pushed
// one. There is no proof, no checksum, no limit, no identity and no origin.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "tools/bench/support/child_process.h"

namespace zazen {

// The receiver's process: it says its port on stdout and serves connections one after the
// other, each with a new directory below this one. Its exit status.
int plain_receiver(const std::string& directory);

class PlainPush {
 public:
  static Result<PlainPush> start(const std::string& self, const std::string& directory);

  // Sends these files, until all are acknowledged. Seconds.
  Result<double> send(const std::vector<std::string>& files, std::uint64_t frame_bytes);

 private:
  PlainPush(ChildProcess receiver, std::uint16_t port)
      : receiver_(std::move(receiver)), port_(port) {}

  ChildProcess receiver_;
  std::uint16_t port_;
};

}  // namespace zazen
