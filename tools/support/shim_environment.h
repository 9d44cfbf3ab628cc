// The environment that puts the shim in front of a program: the place of libzazen.so, and
// variables.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

using Environment = std::map<std::string, std::string>;

// The variables that have an effect.
const std::vector<std::string>& known_variables();
struct MisspeltVariable {
  std::string name, likely;
};
// Variables of the environment that begin with ZAZEN_ and are nearly, but not quite, known.
std::vector<MisspeltVariable> misspelt_variables();

struct WrongValue {
  std::string name, value, accepted;
};
// Variables of the environment with an invalid value.
std::vector<WrongValue> wrong_values();

std::string variable(const char* name);  // "" if it is not set

// ZAZEN_DISABLE, as the shim reads it.
bool shim_is_disabled();

// The shim beside zazenctl, as it was built or installed.
Result<std::string> find_shim();

// The shim and, with `trace`, the tracing plug-in, which is beside it and goes in front of it.
// Inside a traced run (run --trace mpirun run program) the plug-in stays.
Result<std::vector<std::string>> find_preloads(bool trace);

// Puts them in front of the existing LD_PRELOAD.
Status add_preloads(const std::vector<std::string>& preloads, Environment& environment);

}  // namespace zazen
