// Tells whether a process is over: it does not exist, or it is a zombie. Such a process opens
// no more files.
#pragma once
#include <sys/types.h>

namespace zazen {

bool process_is_over(pid_t pid);

}  // namespace zazen
