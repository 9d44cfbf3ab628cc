// BenchPlace: the programs of the build, among which zazen-bench lies, and a temporary
// directory, for each benchmark.
#pragma once
#include <string>
#include <utility>

#include "bodhi/common/result.h"

namespace zazen {

// Benchmarks end by exceptions: the value, or else the error is thrown.
template <class T>
T take(Result<T> result) {
  if (!result) throw Error(result.error());
  return std::move(*result);
}

struct Programs {
  std::string self, zazend, shim;
  std::string slow_origin;  // a file server for tests; built only with them
};

Programs find_programs();

class TemporaryDirectory {
 public:
  static TemporaryDirectory make(const std::string& parent);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

struct BenchPlace {
  Programs programs;
  std::string root;
};

}  // namespace zazen
