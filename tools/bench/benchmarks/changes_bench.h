// `zazen-bench changes`: what the shim adds to creating, rewriting and removing frames.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct ChangesBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 20;
  // The programs are this user's, and the daemon serves all users. For root only.
  std::optional<unsigned> user;
};

struct ChangeFigures {
  struct Row {
    std::string call, side;
    std::uint64_t bytes = 0;
    double plain_p50 = 0, plain_p99 = 0, p50 = 0, p99 = 0;  // seconds
    double ratio = 0, more = 0;  // medians over pairs of turns; `more` is in seconds
  };
  int rounds = 0;
  std::vector<Row> rows;
};

Result<ChangeFigures> measure_changes(const ChangesBenchOptions& options);

void print_change_figures(const ChangeFigures& figures, bool as_json);

// A process of its own, under the shim or not. A line on stdin, "CALL FIRST COUNT BYTES", is
// done to that many files; the answer is the seconds of each. Its exit status.
int changes_worker(const std::string& root);

}  // namespace zazen
