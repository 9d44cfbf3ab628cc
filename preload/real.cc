#include "preload/real.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include "preload/hook.h"

namespace zazen::real {

constinit Functions next;
constinit bool stat_is_foreign = false;

namespace {

bool are_of_one_library(void* a, void* b) {
  struct dl_find_object of_a, of_b;
  return ::_dl_find_object(a, &of_a) == 0 && ::_dl_find_object(b, &of_b) == 0 &&
         of_a.dlfo_link_map == of_b.dlfo_link_map;
}

}  // namespace

void resolve() {
  ErrnoKeeper keep;
#define X(name, ...) \
  next.name.call = reinterpret_cast<decltype(next.name.call)>(::dlsym(RTLD_NEXT, #name));
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
  stat_is_foreign = !are_of_one_library(reinterpret_cast<void*>(next.stat.call),
                                        reinterpret_cast<void*>(&::getauxval));
}

}  // namespace zazen::real
