// WorkerProcess: the parent's end of a worker (worker.h, listing_worker.h), over one socket
// that is both the worker's stdin and its stdout.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/child_process.h"

namespace zazen {

class WorkerProcess {
 public:
  static Result<WorkerProcess> start(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment);

  // One turn: the samples of one case.
  Result<std::vector<double>> take_turn(const std::string& what);
  // Ends it. How many frames it opened, or listed.
  Result<std::uint64_t> finish();

 private:
  WorkerProcess(ChildProcess process, UniqueFd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  Result<std::string> read_line();

  ChildProcess process_;
  UniqueFd socket_;
  std::string received_;  // beyond the last line
};

}  // namespace zazen
