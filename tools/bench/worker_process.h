// WorkerProcess: the parent's end of a worker (worker.h), over one socket that is both the
// worker's stdin and its stdout.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/result.h"
#include "bodhi/unique_fd.h"
#include "tools/bench/cases.h"
#include "tools/bench/child_process.h"

namespace zazen {

class WorkerProcess {
 public:
  // `shim` is preloaded on the shim's side.
  static Result<WorkerProcess> start(Side side, const std::string& program,
                                     const std::string& shim, const BenchLayout& layout);

  // One turn: the samples of one case.
  Result<std::vector<double>> take_turn(const Case& what);
  // Ends it. How many frames it opened.
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
