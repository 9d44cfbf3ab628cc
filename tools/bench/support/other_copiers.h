// Programs that people copy frames with, as private daemons on a port of this machine's
// loopback: rsync's own daemon, and scp to an sshd with keys made for the occasion.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "tools/bench/support/child_process.h"

namespace zazen {

// A free port of the loopback, until somebody takes it.
Result<std::uint16_t> free_port();

class OtherCopier {
 public:
  // Both copy into `target`; their own files are made in `directory`. ENOENT: it is not
  // installed here.
  static Result<OtherCopier> rsync(const std::string& directory, const std::string& target);
  static Result<OtherCopier> scp(const std::string& directory, const std::string& target);

  // Copies all files of the directory `from`, each time to a new one. Seconds.
  Result<double> copy(const std::string& from, bool with_fsync);

 private:
  OtherCopier(ChildProcess daemon, std::vector<std::string> command, std::string to)
      : daemon_(std::move(daemon)), command_(std::move(command)), to_(std::move(to)) {}

  ChildProcess daemon_;
  std::vector<std::string> command_;
  std::string to_;
  int turn_ = 0;
};

}  // namespace zazen
