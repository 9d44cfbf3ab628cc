#include "preload/trace/next.h"

#include <dlfcn.h>

#include "preload/hook.h"

namespace zazen::trace {

constinit NextFunctions next;

void resolve_next() {
  ErrnoKeeper keep;
#define X(name, ...) \
  next.name.call = reinterpret_cast<decltype(next.name.call)>(::dlsym(RTLD_NEXT, #name));
  ZAZEN_TRACED_FUNCTIONS(X)
#undef X
}

}  // namespace zazen::trace
