#include "tools/bench/support/bench_place.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace zazen {
namespace fs = std::filesystem;

Programs find_programs() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error{error.value(), "/proc/self/exe", {}};
  fs::path build = self.parent_path().parent_path();
  Programs programs{self, build / "daemon/zazend", build / "preload/libzazen.so",
                    build / "tests/fills/slow_origin"};
  for (const std::string& each : {programs.zazend, programs.shim}) {
    if (access(each.c_str(), R_OK) != 0) {
      throw Error{errno, each, "build it: cmake --build --preset release"};
    }
  }
  if (programs.shim.find_first_of(" \t:;") != std::string::npos) {
    throw Error{EINVAL, programs.shim + ": the loader cannot preload such a path", {}};
  }
  return programs;
}

TemporaryDirectory TemporaryDirectory::make(const std::string& parent) {
  std::error_code error;
  fs::path where = fs::canonical(parent, error);
  if (error) throw Error{error.value(), parent, {}};
  std::string path = (where / "zazen-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    throw Error{errno, parent, "--dir names a directory to work in"};
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace zazen
