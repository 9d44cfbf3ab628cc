// Spool: frames that wait on a local disk, because memory is short: parts of one file that
// never has a name, so that a crash leaves nothing behind. The file grows up to a limit and is
// emptied when nothing waits in it.
//
// reserve() and release() are for whoever holds the writer's lock; write() and read() may run
// at the same time as anything, each on its own extent.
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

  // Where `size` bytes may go; nothing if there is no room for them in one piece.
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
