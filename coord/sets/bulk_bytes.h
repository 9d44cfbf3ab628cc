// BulkBytes: an array of up to hundreds of megabytes. New bytes are not zeroed, and for a large
// array the kernel is asked for huge pages. A page fault for each 4 KB would take longer than
// the protocol's work on it.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

namespace zazen {

class BulkBytes {
 public:
  BulkBytes() = default;
  explicit BulkBytes(std::size_t size) { resize(size); }
  BulkBytes(const BulkBytes& other);
  BulkBytes(BulkBytes&& other) noexcept { swap(other); }
  BulkBytes& operator=(BulkBytes other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  operator std::span<const std::byte>() const { return {bytes_.get(), size_}; }

  // Throws std::bad_alloc.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    size_ = size;
  }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) move_to(capacity);
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  void swap(BulkBytes& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t size);
  void move_to(std::size_t capacity);

  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace zazen
