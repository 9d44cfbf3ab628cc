// UniqueFd: owns a file descriptor and closes it. errno is kept. Lean.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace zazen {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    int saved = errno;
    if (fd_ >= 0) ::close(fd_);
    errno = saved;
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace zazen
