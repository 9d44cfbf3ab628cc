// The daemon's own directories. The daemon refuses a directory that another user could
// rearrange, and says which one and why.
#pragma once
#include <sys/types.h>

#include <string>

#include "bodhi/common/result.h"

namespace zazen {

// Makes the directory and its missing parents (0755). Refuses a symlink, another user's
// directory, and one that group or others may write to. `what` names it in the message: "cache
// directory". If `mode` lets others in, an existing directory gets it, too. In this case only
// root and this user may be able to rearrange the directories above.
Status require_secure_directory(const std::string& path, const char* what, mode_t mode = 0700);

// The same, but changes nothing: a directory that is missing must be one that can be made.
Status check_secure_directory(const std::string& path, const char* what, mode_t mode);

// A directory in which every user may make files, and may not touch other users' files (mode
// 1777).
Status require_shared_directory(const std::string& path, const char* what);

}  // namespace zazen
