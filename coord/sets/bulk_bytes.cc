#include "coord/sets/bulk_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace zazen {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kManyBytes = 8 * kHugePage;

}  // namespace

BulkBytes::BulkBytes(const BulkBytes& other) : BulkBytes(other.size_) {
  if (size_ != 0) std::memcpy(bytes_.get(), other.bytes_.get(), size_);
}

void BulkBytes::grow(std::size_t size) {
  move_to(std::max(size, capacity_ + capacity_ / 2));
}

void BulkBytes::move_to(std::size_t capacity) {
  const bool many = capacity >= kManyBytes;
  void* room = many ? std::aligned_alloc(kHugePage, (capacity + kHugePage - 1) & -kHugePage)
                    : std::malloc(capacity);
  if (room == nullptr) throw std::bad_alloc();
  if (many) madvise(room, capacity, MADV_HUGEPAGE);
  if (size_ != 0) std::memcpy(room, bytes_.get(), size_);
  bytes_.reset(static_cast<std::byte*>(room));
  capacity_ = capacity;
}

}  // namespace zazen
