#include "tools/shim_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "bodhi/config.h"

namespace zazen {

namespace fs = std::filesystem;

const std::vector<std::string>& known_variables() {
  static const std::vector<std::string> names{
      "ZAZEN_CONFIG",  "ZAZEN_RUNTIME", "ZAZEN_FILTER", "ZAZEN_LOG",     "ZAZEN_LOG_FILE",
      "ZAZEN_DISABLE", "ZAZEN_REPORT",  "ZAZEN_VIEW",   "ZAZEN_DATASETS"};
  return names;
}

std::vector<MisspeltVariable> misspelt_variables() {
  std::vector<MisspeltVariable> found;
  const std::vector<std::string>& known = known_variables();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string name(*entry, std::strcspn(*entry, "="));
    if (!name.starts_with("ZAZEN_") ||
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    std::string likely = closest_spelling(name, known);
    if (!likely.empty()) found.push_back({name, likely});
  }
  return found;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool shim_is_disabled() {
  std::string value = variable("ZAZEN_DISABLE");
  return !value.empty() && value != "0";
}

Result<std::string> find_shim() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const char* place : {"../preload/libzazen.so", "../lib/zazen/libzazen.so"}) {
    fs::path shim = (self.parent_path() / place).lexically_normal();
    if (access(shim.c_str(), R_OK) == 0) return shim.string();
  }
  return Error{ENOENT,
               "libzazen.so: neither in ../preload nor in ../lib/zazen of " +
                   self.parent_path().string(),
               "build it: cmake --build --preset release"};
}

// The loader splits LD_PRELOAD at blanks and colons. A name without '/' is looked for in
// LD_LIBRARY_PATH, where blanks are no separators.
Status add_shim(const std::string& shim, Environment& environment) {
  std::string before = variable("LD_PRELOAD");
  if (before == shim || before.starts_with(shim + ":") || before.starts_with(shim + " ")) {
    return Done{};
  }
  std::string word = shim;
  if (shim.find_first_of(" \t") != std::string::npos) {
    fs::path path(shim);
    if (shim.find_first_of(":;") != std::string::npos) {
      return Error{EINVAL,
                   shim + ": the loader cannot preload a path with both blanks and colons",
                   "install Zazen in a directory with a simpler name"};
    }
    std::string directories = variable("LD_LIBRARY_PATH");
    environment["LD_LIBRARY_PATH"] =
        path.parent_path().string() + (directories.empty() ? "" : ":" + directories);
    word = path.filename().string();
  } else if (shim.find(':') != std::string::npos) {
    return Error{EINVAL, shim + ": the loader cannot preload a path with a colon",
                 "install Zazen in a directory with a simpler name"};
  }
  environment["LD_PRELOAD"] = word + (before.empty() ? "" : ":" + before);
  return Done{};
}

}  // namespace zazen
