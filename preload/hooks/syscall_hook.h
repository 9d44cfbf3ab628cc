// After a call of this function, which follows real::prepare(), syscall() forwards to the next
// definition of that name. Until then it is the instruction itself.
#pragma once

namespace zazen {

void prepare_syscall_hook();

}  // namespace zazen
