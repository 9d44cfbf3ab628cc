// The exported names of a library that is in the process, searched as the loader does for a
// dlsym without a version: its GNU hash table, and of several versions the default one.
//
// Why not dlsym: for the 140 names that the shim forwards to it took 35 to 70 us of every exec,
// and it may allocate and lock, so that it cannot wait until a hook needs the name. This can:
// it only reads what the loader has mapped.
#pragma once
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace zazen {

// In one piece: a pointer would be one more relocation for each name.
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

  // False if its tables are not of the usual kind; then only dlsym knows what is in it.
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
