// FirstStderr: whether standard error is still the file that it was when the process started. A
// program that began without standard error, or has closed it, may use the number for its own
// data. Keeps errno. Lean.
#pragma once
#include "bodhi/lean/system/raw_call.h"

namespace zazen {

class FirstStderr {
 public:
  void remember() {
    struct stat st;
    known_ = raw_fstat(STDERR_FILENO, &st) == 0;
    if (!known_) return;
    dev_ = st.st_dev;
    ino_ = st.st_ino;
  }
  bool is_there() const {
    struct stat st;
    return raw_fstat(STDERR_FILENO, &st) == 0 && is(st);
  }
  bool is(const struct stat& st) const {
    return known_ && st.st_dev == dev_ && st.st_ino == ino_;
  }

 private:
  bool known_ = false;
  dev_t dev_ = 0;
  ino_t ino_ = 0;
};

}  // namespace zazen
