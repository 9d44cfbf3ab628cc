// syscall() forwards to the next definition of that name once this was called, after
// real::prepare(); before, it is the instruction itself.
#pragma once

namespace zazen {

void prepare_syscall_hook();

}  // namespace zazen
