#include "preload/real.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstddef>
#include <iterator>

#include "preload/hook.h"
#include "preload/loaded_library.h"

namespace zazen::real {

constinit Functions next;
constinit bool stat_is_foreign = false;

namespace {

constexpr SymbolName kNames[] = {
#define X(name, ...) SymbolName(#name),
    ZAZEN_REAL_FUNCTIONS(X)
#undef X
};
static_assert(sizeof next == std::size(kNames) * sizeof(Pointer<void()>));

// The libraries from the one behind us to libc, in the order in which the loader searches them.
// They came with the program and stay as long as it. Null: dlsym was asked for all names.
constinit std::atomic<const link_map*> own_library{nullptr};
constinit const link_map* libc = nullptr;

const link_map* library_of(const void* address) {
  struct dl_find_object found;
  void* changeable = const_cast<void*>(address);
  return ::_dl_find_object(changeable, &found) == 0 ? found.dlfo_link_map : nullptr;
}

bool can_search(const link_map* own) {
  if (own == nullptr || libc == nullptr) return false;
  for (const link_map* map = own->l_next; map != nullptr; map = map->l_next) {
    if (!LoadedLibrary(*map).is_searchable()) return false;
    if (map == libc) return true;
  }
  return false;  // somebody loaded us late
}

void ask_loader() {
#define X(name, ...) next.name.set(::dlsym(RTLD_NEXT, #name));
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
}

}  // namespace

void prepare() {
  ErrnoKeeper keep;
  libc = library_of(reinterpret_cast<const void*>(&::getauxval));
  const link_map* own = library_of(&next);
  if (can_search(own)) {
    own_library.store(own, std::memory_order_release);
  } else {
    ask_loader();
  }
  stat_is_foreign = library_of(reinterpret_cast<const void*>(known(next.stat))) != libc;
}

void* look_up(std::size_t index) {
  const link_map* map = own_library.load(std::memory_order_acquire);
  void* found = nullptr;
  while (map != nullptr && map != libc && found == nullptr) {
    map = map->l_next;
    found = LoadedLibrary(*map).find(kNames[index]);
  }
  return found;
}

}  // namespace zazen::real
