#include "preload/calls/real.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstddef>
#include <iterator>

#include "preload/calls/hook.h"
#include "preload/calls/loaded_library.h"
#include "preload/calls/loader_calls.h"

// Weak, because the symbol is defined by glibc's loader, which other systems lack.
#pragma weak _r_debug

namespace zazen::real {

constinit Functions next;
constinit bool stat_is_foreign = false;

namespace {

constexpr SymbolName kNames[] = {
#define X(name) SymbolName(#name),
    ZAZEN_REAL_FUNCTIONS(X)
#undef X
};
static_assert(sizeof next == std::size(kNames) * sizeof(Pointer<void()>));

// The libraries from the next one after us to libc, in the loader's search order. They were
// loaded with the program and are never unloaded. Null: dlsym was used for all names.
constinit std::atomic<const link_map*> own_library{nullptr};
constinit const link_map* libc = nullptr;

const link_map* loaded_libraries() {
  return &_r_debug != nullptr ? _r_debug.r_map : nullptr;
}

// The library that contains the address: libraries do not overlap, so it is the last one that
// begins at or before it. (_dl_find_object would require glibc 2.35.)
const link_map* library_of(const void* address) {
  const link_map* found = nullptr;
  for (const link_map* map = loaded_libraries(); map != nullptr; map = map->l_next) {
    if (map->l_addr <= reinterpret_cast<ElfW(Addr)>(address) &&
        (found == nullptr || map->l_addr > found->l_addr)) {
      found = map;
    }
  }
  return found;
}

// Programs that were linked against a glibc older than 2.33 call __xstat; such a libc has
// nothing else.
const void* stat_function() {
  auto* stat = known(next.stat);
  return stat != nullptr ? reinterpret_cast<const void*>(stat)
                         : reinterpret_cast<const void*>(known(next.__xstat));
}

bool can_search(const link_map* own) {
  if (own == nullptr || libc == nullptr) return false;
  for (const link_map* map = own->l_next; map != nullptr; map = map->l_next) {
    if (!LoadedLibrary(*map).is_searchable()) return false;
    if (map == libc) return true;
  }
  return false;  // loaded later, by dlopen
}

void ask_loader() {
  if (&::dlsym == nullptr) return;
#define X(name) next.name.set(::dlsym(RTLD_NEXT, #name));
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
}

}  // namespace

const link_map* own_map() {
  const link_map* map = loaded_libraries();
  while (map != nullptr && map->l_ld != _DYNAMIC) map = map->l_next;
  return map;
}

void prepare() {
  ErrnoKeeper keep;
  libc = library_of(reinterpret_cast<const void*>(&::getauxval));
  const link_map* own = own_map();
  if (can_search(own)) {
    own_library.store(own, std::memory_order_release);
  } else {
    ask_loader();
  }
  stat_is_foreign = library_of(stat_function()) != libc;
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
