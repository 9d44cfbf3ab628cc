#include "tools/bench/support/programs.h"

#include <unistd.h>

#include <filesystem>

namespace zazen {

Result<Programs> find_programs() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return Error{error.value(), "/proc/self/exe", {}};
  fs::path build = self.parent_path().parent_path();
  Programs programs{self, build / "daemon/zazend", build / "preload/libzazen.so",
                    build / "tests/fills/slow_origin"};
  for (const std::string& each : {programs.zazend, programs.shim}) {
    if (access(each.c_str(), R_OK) != 0) {
      return Error{errno, each, "build it: cmake --build --preset release"};
    }
  }
  if (programs.shim.find_first_of(" \t:;") != std::string::npos) {
    return Error{EINVAL, programs.shim + ": the loader cannot preload such a path", {}};
  }
  return programs;
}

}  // namespace zazen
