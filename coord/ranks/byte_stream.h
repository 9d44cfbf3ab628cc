// ByteWriter and ByteReader: numbers of 64 bits and strings with their length, for messages
// between the ranks of one job. The ranks share one architecture, so numbers have their form in
// memory. The reader is strict: it never reads past the end, and done() refuses a message with
// bytes left over.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace zazen {

class ByteWriter {
 public:
  void number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool number(std::uint64_t* value) {
    if (rest_.size() < sizeof *value) return false;
    std::memcpy(value, rest_.data(), sizeof *value);
    rest_.remove_prefix(sizeof *value);
    return true;
  }
  bool text(std::string_view* value, std::uint64_t limit) {
    std::uint64_t length = 0;
    if (!number(&length) || length > limit || length > rest_.size()) return false;
    *value = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace zazen
