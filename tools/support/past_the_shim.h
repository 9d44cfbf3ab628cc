// System calls below every hook, libc's syscall() included: a tool behind the shim must see the
// origin's files, not their copies. Result and errno are libc's.
#pragma once
#include "bodhi/lean/system/raw_call.h"

namespace zazen {

template <class... Arguments>
long past_the_shim(long number, Arguments... arguments) {
  long result = raw_call(number, arguments...);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace zazen
