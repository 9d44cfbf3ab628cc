// Varints: unsigned numbers in groups of seven bits, the lowest first. Each number has exactly
// one encoding: no padding.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace zazen {

inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// Takes one from the front of bytes; false if it is cut off, too large or padded.
inline bool take_varint(std::string_view& bytes, std::uint64_t* value) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
    if (i == 9 && byte > 1) return false;
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return false;
      bytes.remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return false;
}

}  // namespace zazen
