// The examination of what is installed, and of this environment: does the shim load, is there
// a plug-in for MPI that loads, do the variables say what their writer thinks.
#pragma once
#include <string>

#include "tools/findings.h"

namespace zazen {

// Where the plug-in for Open MPI lies, as the shim looks for it; "" if it is not there.
std::string find_plugin(const std::string& shim);

void check_shim(Findings& findings);
void check_environment(Findings& findings);

}  // namespace zazen
