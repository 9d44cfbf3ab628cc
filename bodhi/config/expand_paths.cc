#include "bodhi/config/expand_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "bodhi/common/no_signals.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/included_files.h"

namespace zazen {
namespace {

constexpr std::chrono::seconds kLimit(5);
// A pattern may be looked up in very many directories; those beyond it are not looked at.
constexpr std::size_t kMostLooks = 4'096;

struct Close {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// True if the name, which a pattern stands for, is a directory and no link to one.
bool is_directory(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat st = {};
  return ::fstatat(parent, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

std::vector<std::string> matches_in(const std::string& directory, const std::string& pattern) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, Close> stream(::opendir(directory.c_str()));
  if (!stream) return found;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || (name[0] == '.' && pattern[0] != '.')) continue;
    if (!matches_pattern(name, pattern) || !is_directory(::dirfd(stream.get()), *entry))
      continue;
    found.push_back((directory == "/" ? "" : directory) + "/" + name);
  }
  std::ranges::sort(found);
  return found;
}

struct Walk {
  std::string pattern;
  std::size_t looks = 0;
  std::vector<std::string> found;

  // `at` is where the rest of the pattern begins, with its '/'.
  void go(const std::string& directory, std::size_t at) {
    if (found.size() >= ExpandedPath::kMost || looks >= kMostLooks) return;
    if (at >= pattern.size()) {
      struct stat st = {};
      if (::stat(directory.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
        found.push_back(directory);
      return;
    }
    const std::size_t end = std::min(pattern.find('/', at + 1), pattern.size());
    const std::string part = pattern.substr(at + 1, end - at - 1);
    if (!is_pattern(part)) return go(directory + "/" + part, end);
    ++looks;
    for (const std::string& next : matches_in(directory.empty() ? "/" : directory, part)) {
      go(next, end);
    }
  }
};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

bool is_pattern(const std::string& path) {
  return path.find('*') != path.npos;
}

bool path_matches(const std::string& path, const std::string& pattern) {
  const std::vector<std::string> parts = parts_of(path), wanted = parts_of(pattern);
  if (parts.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_hidden = parts[i].starts_with('.') && !wanted[i].starts_with('.');
    if (is_hidden || !matches_pattern(parts[i], wanted[i])) return false;
  }
  return true;
}

ExpandedPath expand_path(const std::string& pattern) {
  Walk walk{pattern, 0, {}};
  walk.go("", 0);
  return {true, std::move(walk.found)};
}

std::vector<ExpandedPath> expand_paths(const std::vector<std::string>& patterns) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  std::vector<ExpandedPath> expanded(patterns.size());
  std::vector<std::future<ExpandedPath>> answers(patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::promise<ExpandedPath> promise;
    std::future<ExpandedPath> answer = promise.get_future();
    try {
      NoSignals no_signals;
      std::thread([pattern = patterns[i], promise = std::move(promise)]() mutable {
        promise.set_value(expand_path(pattern));
      }).detach();
      answers[i] = std::move(answer);
    } catch (const std::system_error&) {  // the system refuses a thread
    }
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!answers[i].valid()) continue;
    if (answers[i].wait_until(deadline) != std::future_status::ready) continue;
    expanded[i] = answers[i].get();
  }
  return expanded;
}

}  // namespace zazen
