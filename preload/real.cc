#include "preload/real.h"

#include <dlfcn.h>

#include "preload/hook.h"

namespace zazen::real {

constinit Functions next;

void resolve() {
  ErrnoKeeper keep;
#define X(name, ...) \
  next.name.call = reinterpret_cast<decltype(next.name.call)>(::dlsym(RTLD_NEXT, #name));
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
}

}  // namespace zazen::real
