// The exported names of a loaded library. The search works as the loader's for a dlsym without
// a version: in the GNU hash table, and of several versions the default one.
//
// Why not dlsym: for the 140 names that the shim forwards to it took 35 to 70 us of every exec.
// It may also allocate and lock, so a hook cannot call it when it needs a name. This search
// only reads memory that the loader has mapped, so a hook can use it.
#pragma once
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace zazen {

// An inline array: a pointer would need one more relocation for each name.
struct SymbolName {
  consteval SymbolName(std::string_view name) {
    std::copy(name.begin(), name.end(), text);  // too long: does not compile
    for (char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  }
  std::uint32_t hash = 5381;
  char text[44] = {};
};

class LoadedLibrary {
 public:
  LoadedLibrary() = default;
  explicit LoadedLibrary(const link_map& map);

  // False if its tables are not of the usual kind; then only dlsym can search it.
  bool is_searchable() const {
    return hash_ != nullptr && symbols_ != nullptr && names_ != nullptr;
  }

  void* find(const SymbolName& name) const;  // null: not there

 private:
  const ElfW(Sym) * default_version(const SymbolName& name) const;

  ElfW(Addr) base_ = 0;
  const std::uint32_t* hash_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const ElfW(Half) * versions_ = nullptr;
  const char* names_ = nullptr;
};

}  // namespace zazen
