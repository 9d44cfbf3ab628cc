// `zazen-bench drops`: how soon the other nodes drop their copies of a frame that a program
// changes through one node's shim.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct DropsBenchOptions {
  std::string directory;  // where the temporary directory is made
  std::uint64_t frames = 300;
  int nodes = 3;
};

struct DropFigures {
  std::uint64_t frames = 0;
  int nodes = 0;
  std::vector<double> seconds;  // one for each frame: from the change to the last copy's end
};

Result<DropFigures> measure_drops(const DropsBenchOptions& options);

void print_drop_figures(const DropFigures& figures, bool as_json);

// A process of its own, under a shim: for each line on stdin, a frame's number, it changes that
// frame and answers with the time when the call had returned. Its exit status.
int drops_worker(const std::string& root);

}  // namespace zazen
