#include "bodhi/config/expand_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "bodhi/common/detached_looks.h"
#include "bodhi/config/included_files.h"

namespace zazen {
namespace {

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

bool is_missing() {
  return errno == ENOENT || errno == ENOTDIR;
}

// False: nobody knows what is there.
bool find_matches(const std::string& directory, const std::string& pattern,
                  std::vector<std::string>* matches) {
  std::vector<std::string>& found = *matches;
  const std::unique_ptr<DIR, Close> stream(::opendir(directory.c_str()));
  if (!stream) return is_missing();
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || (name[0] == '.' && pattern[0] != '.')) continue;
    if (!matches_pattern(name, pattern) || !is_directory(::dirfd(stream.get()), *entry))
      continue;
    found.push_back((directory == "/" ? "" : directory) + "/" + name);
  }
  std::ranges::sort(found);
  return true;
}

struct Walk {
  std::string pattern;
  std::size_t looks = 0;
  std::vector<std::string> found = {};
  bool has_failed = false;

  bool is_real_directory(const std::string& path) {
    struct stat st = {};
    if (::lstat(path.c_str(), &st) == 0) return S_ISDIR(st.st_mode);
    has_failed = has_failed || !is_missing();
    return false;
  }

  // `at` is where the rest of the pattern begins, with its '/'.
  void go(const std::string& directory, std::size_t at) {
    if (found.size() >= ExpandedPath::kMost || looks >= kMostLooks) return;
    if (at >= pattern.size()) {
      struct stat st = {};
      if (::stat(directory.c_str(), &st) != 0) {
        has_failed = has_failed || !is_missing();
      } else if (S_ISDIR(st.st_mode)) {
        found.push_back(directory);
      }
      return;
    }
    const std::size_t end = std::min(pattern.find('/', at + 1), pattern.size());
    const std::string part = pattern.substr(at + 1, end - at - 1);
    if (!is_pattern(part)) {
      const std::string next = directory + "/" + part;
      // Behind a '*' others may make directories, and links to somebody else's.
      if (is_pattern(pattern.substr(0, at)) && !is_real_directory(next)) return;
      return go(next, end);
    }
    ++looks;
    std::vector<std::string> matches;
    if (!find_matches(directory.empty() ? "/" : directory, part, &matches)) has_failed = true;
    for (const std::string& next : matches) go(next, end);
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
  Walk walk{pattern};
  walk.go("", 0);
  return {!walk.has_failed, std::move(walk.found)};
}

std::vector<ExpandedPath> expand_paths(const std::vector<std::string>& patterns,
                                       std::chrono::milliseconds limit) {
  static auto& looks = *new DetachedLooks<ExpandedPath>(expand_path);
  std::vector<ExpandedPath> expanded(patterns.size());
  auto answers = looks.ask(patterns, limit);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (answers[i]) expanded[i] = std::move(*answers[i]);
  }
  return expanded;
}

}  // namespace zazen
