#include "tools/support/shim_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "bodhi/config/config.h"
#include "bodhi/lean/system/variables.h"

namespace zazen {

namespace fs = std::filesystem;

constexpr char kIncomplete[] =
    "the build or the installation is incomplete: cmake --build --preset release, then "
    "cmake --install build/release";

const std::vector<std::string>& known_variables() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const KnownVariable& known : kVariables) all.emplace_back(known.name);
    return all;
  }();
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

std::vector<WrongValue> wrong_values() {
  std::vector<WrongValue> found;
  check_variables([](const char* name) { return std::getenv(name); },
                  [&](const KnownVariable& known, const char* value, const char* accepted) {
                    found.push_back({known.name, value, accepted});
                  });
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
               kIncomplete};
}

namespace {

std::vector<std::string> preloaded_already() {
  std::vector<std::string> words;
  std::string list = variable("LD_PRELOAD");
  for (std::size_t at = 0; (at = list.find_first_not_of(": ", at)) != std::string::npos;) {
    std::size_t end = std::min(list.find_first_of(": ", at), list.size());
    words.push_back(list.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

Result<std::vector<std::string>> find_preloads(bool trace) {
  constexpr char kPlugin[] = "libzazen-trace.so";
  Result<std::string> shim = find_shim();
  if (!shim) return shim.error();
  for (const std::string& word : preloaded_already()) {
    trace = trace || fs::path(word).filename() == kPlugin;
  }
  if (!trace) return std::vector<std::string>{*shim};
  std::string plugin = fs::path(*shim).replace_filename(kPlugin).string();
  if (access(plugin.c_str(), R_OK) != 0) {
    return Error{errno, plugin + ": " + std::strerror(errno), kIncomplete};
  }
  return std::vector<std::string>{plugin, *shim};
}

// The loader splits LD_PRELOAD at blanks and colons. A name without '/' is looked for in
// LD_LIBRARY_PATH, where blanks are no separators.
Status add_preloads(const std::vector<std::string>& preloads, Environment& environment) {
  fs::path directory = fs::path(preloads.front()).parent_path();
  const std::string& path = directory.native();
  bool blanks = path.find_first_of(" \t") != std::string::npos;
  if (path.find_first_of(blanks ? ":;" : ":") != std::string::npos) {
    return Error{EINVAL,
                 path + ": the loader cannot preload from a directory with " +
                     (blanks ? "both blanks and colons" : "a colon") + " in its name",
                 "install Zazen in a directory with a simpler name"};
  }
  std::vector<std::string> words = preloads;
  if (blanks) {
    for (std::string& word : words) word = fs::path(word).filename().string();
    std::string directories = variable("LD_LIBRARY_PATH");
    if (directories != path && !directories.starts_with(path + ":")) {
      environment["LD_LIBRARY_PATH"] = path + (directories.empty() ? "" : ":" + directories);
    }
  }
  for (std::string& word : preloaded_already()) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::string& list = environment["LD_PRELOAD"];
  for (const std::string& word : words) list += (list.empty() ? "" : ":") + word;
  return Done{};
}

}  // namespace zazen
