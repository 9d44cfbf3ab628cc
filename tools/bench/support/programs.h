// The programs of the build that a benchmark runs: it lies among them.
#pragma once
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

struct Programs {
  std::string self, zazend, shim;
  std::string slow_origin;  // a file server for tests; built only with them
};

Result<Programs> find_programs();

}  // namespace zazen
