// What is behind a bodhi handle.
#pragma once
#include <string>

struct bodhi {
  std::string runtime;  // the runtime directory of the node's daemon
};
