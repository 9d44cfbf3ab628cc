// Spool: stores waiting frames on a local disk when memory is short, as extents of one file.
// The file never has a name, so a crash leaves nothing behind. It grows up to a limit and is
// truncated when no frame is in it.
//
// reserve() and release() need the writer's lock. write() and read() may run in parallel with
// everything, each on its own extent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

class Spool {
 public:
  static Result<Spool> open(const std::string& directory, std::uint64_t limit_bytes);

  // The offset of an extent of `size` bytes; nothing if there is no such free extent.
  std::optional<std::uint64_t> reserve(std::uint64_t size);
  void release(std::uint64_t offset, std::uint64_t size);

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  Status read(std::uint64_t offset, std::span<std::byte> bytes) const;

  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  Spool(UniqueFd fd, std::uint64_t limit_bytes) : fd_(std::move(fd)) {
    if (limit_bytes > 0) free_.emplace(0, limit_bytes);
  }

  UniqueFd fd_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset, size; neighbours are joined
  std::uint64_t used_bytes_ = 0;
};

}  // namespace zazen
