// The daemon's own directories. It refuses to work in one that another user could rearrange
// under it, and says which and why.
#pragma once
#include <string>

#include "bodhi/result.h"

namespace zazen {

// Makes the directory (0700) and its missing parents (0755). Refuses a symlink, another
// user's directory, and one that group or others may write to. `what` names it in the
// message: "cache directory".
Status require_secure_directory(const std::string& path, const char* what);

}  // namespace zazen
