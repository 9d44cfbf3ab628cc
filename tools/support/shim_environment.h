// What puts the shim in front of a program: where libzazen.so lies, and the variables.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

using Environment = std::map<std::string, std::string>;

// The variables that have a meaning.
const std::vector<std::string>& known_variables();
struct MisspeltVariable {
  std::string name, likely;
};
// Those of the environment that begin with ZAZEN_ and are nearly, but not quite, known.
std::vector<MisspeltVariable> misspelt_variables();

struct WrongValue {
  std::string name, value, accepted;
};
// Those of the environment with a value that makes no sense.
std::vector<WrongValue> wrong_values();

std::string variable(const char* name);  // "" if it is not set

// ZAZEN_DISABLE, as the shim reads it.
bool shim_is_disabled();

// Beside zazenctl, as it was built or installed.
Result<std::string> find_shim();

// The shim and, with `trace`, the tracing plug-in, which lies beside it and goes in front of
// it. Inside a run that is traced (run --trace mpirun run program) it stays.
Result<std::vector<std::string>> find_preloads(bool trace);

// Puts them before what LD_PRELOAD has.
Status add_preloads(const std::vector<std::string>& preloads, Environment& environment);

}  // namespace zazen
