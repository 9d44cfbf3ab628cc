// The shim finds without dlsym what dlsym finds.
#include "preload/calls/loaded_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <math.h>

#include "preload/calls/real.h"

namespace zazen {
namespace {

const link_map& library_with(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) abort();
  return *map;
}

LoadedLibrary libc() {
  return LoadedLibrary(library_with(reinterpret_cast<const void*>(&::fopen)));
}

TEST(LoadedLibrary, FindsEachFunctionThatTheShimForwardsTo) {
  void* handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
  ASSERT_NE(handle, nullptr);
  int known_to_loader = 0;
#define X(name, ...)                                  \
  {                                                   \
    static constexpr SymbolName kName(#name);         \
    void* expected = dlsym(handle, #name);            \
    EXPECT_EQ(libc().find(kName), expected) << #name; \
    if (expected != nullptr) ++known_to_loader;       \
  }
  ZAZEN_REAL_FUNCTIONS(X)
#undef X
  EXPECT_GT(known_to_loader, 100);
  dlclose(handle);
}

// memcpy is an indirect function; of the two versions of posix_spawn and memcpy the newer is
// the default one.
TEST(LoadedLibrary, FindsIndirectFunctionsAndTheDefaultVersion) {
  static constexpr SymbolName kMemcpy("memcpy"), kSpawn("posix_spawn");
  void* handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
  EXPECT_EQ(libc().find(kMemcpy), dlsym(handle, "memcpy"));
  EXPECT_EQ(libc().find(kSpawn), dlvsym(handle, "posix_spawn", "GLIBC_2.15"));
  EXPECT_NE(libc().find(kSpawn), dlvsym(handle, "posix_spawn", "GLIBC_2.2.5"));
  dlclose(handle);
}

TEST(LoadedLibrary, FindsNothingThatIsOnlyImportedOrNowhere) {
  static constexpr SymbolName kNowhere("zazen_is_nowhere"), kImported("fopen");
  EXPECT_EQ(libc().find(kNowhere), nullptr);
  LoadedLibrary libm(library_with(dlsym(RTLD_DEFAULT, "erfc")));
  ASSERT_TRUE(libm.is_searchable());
  EXPECT_EQ(libm.find(kImported), nullptr);
}

TEST(LoadedLibrary, SaysWhichItCannotSearch) {
  ElfW(Dyn) nothing[1] = {{DT_NULL, {0}}};
  link_map map{};
  map.l_ld = nothing;
  EXPECT_FALSE(LoadedLibrary(map).is_searchable());
  EXPECT_TRUE(libc().is_searchable());
}

}  // namespace
}  // namespace zazen
