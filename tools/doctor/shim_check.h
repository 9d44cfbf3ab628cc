// The examination of what is installed, and of this environment: does the shim load, is there
// a plug-in for MPI that loads, do the variables say what their writer thinks.
#pragma once
#include <string>

#include "tools/doctor/findings.h"

namespace zazen {

inline constexpr char kOpenMpiPlugin[] = "libzazen-openmpi.so";
inline constexpr char kMpichPlugin[] = "libzazen-mpich.so";

// Where a plug-in lies, as the shim looks for it; "" if it is not there.
std::string find_plugin(const std::string& shim, const std::string& file);

bool check_shim(Findings& findings);  // false: it does not load
void check_environment(Findings& findings);

}  // namespace zazen
