// Journal: the operations of one actor and their results, one line each.
//
// Two runs with the same seed must have the same journals, byte for byte. So nothing enters
// that differs between two datasets made alike: an inode number or a change time is entered
// as "same" or "differs" from what the kernel says of the origin's path.
#pragma once
#include <cstdint>
#include <string>

namespace exerciser {

class Journal {
 public:
  explicit Journal(int fd) : fd_(fd) {}  // a number that no operation gets or closes
  ~Journal() { flush(); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void begin(long number, const char* operation);
  void end();
  void flush();

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...);
  void result(long value);  // and errno by name, if it is negative
  std::size_t length() const { return text_.size(); }
  std::string since(std::size_t length) const { return text_.substr(length); }
  void data(const void* bytes, long count);  // a checksum

 private:
  int fd_;
  std::string text_;
};

std::uint64_t checksum(const void* bytes, std::size_t count);

}  // namespace exerciser
