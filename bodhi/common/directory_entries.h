// Reads the entries of a directory by raw system calls, which the shim's hooks do not see.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

// Calls `visit(name, inode, type)` for each entry, until it returns false. 0 or an errno.
template <class Visit>
int visit_entries(int directory_fd, std::size_t buffer_bytes, Visit visit) {
  // The kernel's layout of one entry: u64 ino, i64 offset, u16 size, u8 type, name.
  constexpr std::size_t kSizeAt = 16, kTypeAt = 18, kNameAt = 19;
  std::vector<char> buffer(buffer_bytes);
  for (;;) {
    long got = raw_call(SYS_getdents64, directory_fd, buffer.data(), buffer.size());
    if (got == 0) return 0;
    if (got < 0) return static_cast<int>(-got);
    for (const char *at = buffer.data(), *end = at + got; at < end;) {
      std::uint64_t ino;
      std::uint16_t size;
      std::memcpy(&ino, at, sizeof ino);
      std::memcpy(&size, at + kSizeAt, sizeof size);
      const auto type = static_cast<std::uint8_t>(at[kTypeAt]);
      if (!visit(std::string_view(at + kNameAt), ino, type)) return 0;
      at += size;
    }
  }
}

}  // namespace zazen
