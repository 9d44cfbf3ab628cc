#include "preload/trace/next.h"

#include <dlfcn.h>

#include "preload/calls/hook.h"

namespace zazen::trace {

constinit NextFunctions next;

void resolve_next() {
  ErrnoKeeper keep;
#define X(name, ...) next.name.set(::dlsym(RTLD_NEXT, #name));
  ZAZEN_TRACED_FUNCTIONS(X)
#undef X
}

}  // namespace zazen::trace
