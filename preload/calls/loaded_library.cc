#include "preload/calls/loaded_library.h"

#include <cstring>

namespace zazen {
namespace {

constexpr unsigned kWordBits = 8 * sizeof(ElfW(Addr));
constexpr ElfW(Half) kVersionHidden = 0x8000;  // not the default version of its name

}  // namespace

LoadedLibrary::LoadedLibrary(const link_map& map) : base_(map.l_addr) {
  for (const ElfW(Dyn)* entry = map.l_ld; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    // The loader has relocated these addresses, except for the library that the kernel maps.
    ElfW(Addr) address =
        entry->d_un.d_ptr < base_ ? entry->d_un.d_ptr + base_ : entry->d_un.d_ptr;
    const void* table = reinterpret_cast<const void*>(address);
    if (entry->d_tag == DT_GNU_HASH) hash_ = static_cast<const std::uint32_t*>(table);
    if (entry->d_tag == DT_SYMTAB) symbols_ = static_cast<const ElfW(Sym)*>(table);
    if (entry->d_tag == DT_VERSYM) versions_ = static_cast<const ElfW(Half)*>(table);
    if (entry->d_tag == DT_STRTAB) names_ = static_cast<const char*>(table);
  }
}

const ElfW(Sym) * LoadedLibrary::default_version(const SymbolName& name) const {
  // After the header come the Bloom filter, the buckets, and one hash for each symbol.
  std::uint32_t bucket_count = hash_[0];
  std::uint32_t first_symbol = hash_[1];
  std::uint32_t filter_words = hash_[2];
  std::uint32_t filter_shift = hash_[3];
  const auto* filter = reinterpret_cast<const ElfW(Addr)*>(hash_ + 4);
  const auto* buckets = reinterpret_cast<const std::uint32_t*>(filter + filter_words);
  const std::uint32_t* hashes = buckets + bucket_count;
  if (bucket_count == 0 || filter_words == 0) return nullptr;

  ElfW(Addr) word = filter[name.hash / kWordBits % filter_words];
  ElfW(Addr) both =
      word >> name.hash % kWordBits & word >> (name.hash >> filter_shift) % kWordBits;
  if ((both & 1) == 0) return nullptr;
  std::uint32_t i = buckets[name.hash % bucket_count];
  if (i < first_symbol) return nullptr;
  for (;; ++i) {
    std::uint32_t hash = hashes[i - first_symbol];
    const ElfW(Sym)& symbol = symbols_[i];
    if ((hash | 1) == (name.hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        (versions_ == nullptr || (versions_[i] & kVersionHidden) == 0) &&
        std::strcmp(names_ + symbol.st_name, name.text) == 0) {
      return &symbol;
    }
    if ((hash & 1) != 0) return nullptr;  // the last symbol of its bucket
  }
}

void* LoadedLibrary::find(const SymbolName& name) const {
  const ElfW(Sym)* symbol = default_version(name);
  if (symbol == nullptr) return nullptr;
  ElfW(Addr) address =
      symbol->st_shndx == SHN_ABS ? symbol->st_value : base_ + symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) {  // its resolver returns the address
    return reinterpret_cast<void* (*)()>(address)();
  }
  return reinterpret_cast<void*>(address);
}

}  // namespace zazen
