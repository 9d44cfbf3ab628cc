#include "bodhi/writer/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

Result<UniqueFd> unnamed_file(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR) return last_error(directory);
  std::string name = directory + "/spool.XXXXXX";
  fd.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return last_error(directory);
  if (::unlink(name.c_str()) != 0) return last_error(name);
  return fd;
}

}  // namespace

Result<Spool> Spool::open(const std::string& directory, std::uint64_t limit_bytes) {
  Result<UniqueFd> fd = unnamed_file(directory);
  if (!fd) return fd.error();
  return Spool(std::move(*fd), limit_bytes);
}

std::optional<std::uint64_t> Spool::reserve(std::uint64_t size) {
  if (size == 0) return 0;
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    auto [offset, room] = *gap;
    if (room < size) continue;
    free_.erase(gap);
    if (room > size) free_.emplace(offset + size, room - size);
    used_bytes_ += size;
    return offset;
  }
  return std::nullopt;
}

void Spool::release(std::uint64_t offset, std::uint64_t size) {
  if (size == 0) return;
  used_bytes_ -= size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      size = 0;
    }
  }
  if (size != 0) free_.emplace(offset, size);
  // If it fails, the file keeps its size, which is within the limit.
  if (used_bytes_ == 0) [[maybe_unused]]
    int ignored = ::ftruncate(fd_.get(), 0);
}

Status Spool::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return last_error("the spool");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return Done{};
}

Status Spool::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  const long got = raw_read_at(fd_.get(), reinterpret_cast<char*>(bytes.data()), bytes.size(),
                               static_cast<off_t>(offset));
  if (got < 0) return Error{static_cast<int>(-got), "the spool", {}};
  if (got != static_cast<long>(bytes.size())) return Error{EIO, "the spool", {}};
  return Done{};
}

}  // namespace zazen
