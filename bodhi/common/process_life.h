// Is a process over? One that is gone, or a zombie that its parent has not collected, will open
// nothing any more.
#pragma once
#include <sys/types.h>

namespace zazen {

bool process_is_over(pid_t pid);

}  // namespace zazen
