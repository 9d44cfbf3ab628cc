// Text of bounded length that is assembled without an allocator, and the numbers in it. Sizes
// are rounded down.
#pragma once
#include <cstddef>
#include <cstdint>

namespace zazen::trace {

class Text {
 public:
  Text(char* place, std::size_t capacity) : place_(place), capacity_(capacity) {}

  // Text that does not fit is cut off.
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...);

  const char* begin() const { return place_; }
  std::size_t size() const { return size_; }

 private:
  char* place_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

struct Cell {
  char text[32];
};
Cell count_cell(std::uint64_t number);      // 41,208
Cell bytes_cell(std::uint64_t bytes);       // 1.62 TB, 430 MB
Cell time_cell(std::uint64_t nanoseconds);  // 0.120934 s

}  // namespace zazen::trace
