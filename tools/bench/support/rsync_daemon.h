// RsyncDaemon: rsync's own daemon on a port of the loopback, for copies to a directory.
#pragma once
#include <string>

#include "tools/bench/support/child_process.h"

namespace zazen {

class RsyncDaemon {
 public:
  // It copies into `target`; its configuration is made in `directory`.
  RsyncDaemon(const std::string& directory, const std::string& target);

  // Copies all files of the directory `from`, each time to a new one. Seconds.
  double copy(const std::string& from, bool with_fsync);

 private:
  std::uint16_t port_;
  ChildProcess daemon_;
  int turn_ = 0;
};

inline constexpr char kRsync[] = "/usr/bin/rsync";

}  // namespace zazen
