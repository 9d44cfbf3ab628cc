// The daemon's own directories. It refuses to work in one that another user could rearrange
// under it, and says which and why.
#pragma once
#include <sys/types.h>

#include <string>

#include "bodhi/common/result.h"

namespace zazen {

// Makes the directory and its missing parents (0755). Refuses a symlink, another user's
// directory, and one that group or others may write to. `what` names it in the message: "cache
// directory". A mode that lets others in is given to a directory that is there, too; then
// nobody but root and this user may be able to rearrange the directories above it.
Status require_secure_directory(const std::string& path, const char* what, mode_t mode = 0700);

// Where every user may make files of his own, and touch nobody else's (mode 1777).
Status require_shared_directory(const std::string& path, const char* what);

}  // namespace zazen
