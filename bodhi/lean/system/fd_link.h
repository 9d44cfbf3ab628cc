// FdLink: "/proc/self/fd/7", the kernel's link to an open file. Made without printf, which
// would take a kilobyte of the stack. Lean.
#pragma once
#include <cstddef>

namespace zazen {

class FdLink {
 public:
  explicit FdLink(int fd) {
    char* at = text_ + sizeof text_ - 1;
    for (unsigned rest = static_cast<unsigned>(fd); at == text_ + sizeof text_ - 1 || rest != 0;
         rest /= 10) {
      *--at = static_cast<char>('0' + rest % 10);
    }
    for (std::size_t i = sizeof kDirectory - 1; i > 0; --i) *--at = kDirectory[i - 1];
    text_at_ = at;
  }
  const char* text() const { return text_at_; }

 private:
  static constexpr char kDirectory[] = "/proc/self/fd/";
  char text_[sizeof kDirectory + 10] = {};
  const char* text_at_;
};

}  // namespace zazen
