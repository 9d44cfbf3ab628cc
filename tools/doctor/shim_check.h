// The examination of the installation and of this environment: does the shim load, is there a
// plug-in for MPI that loads, are the variables valid.
#pragma once
#include <string>

#include "tools/doctor/findings.h"

namespace zazen {

inline constexpr char kOpenMpiPlugin[] = "libzazen-openmpi.so";
inline constexpr char kMpichPlugin[] = "libzazen-mpich.so";

// The path of a plug-in, found as the shim does; "" if it does not exist.
std::string find_plugin(const std::string& shim, const std::string& file);

bool check_shim(Findings& findings);  // false: it does not load
void check_environment(Findings& findings);

}  // namespace zazen
