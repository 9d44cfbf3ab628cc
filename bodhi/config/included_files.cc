#include "bodhi/config/included_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "bodhi/common/unique_fd.h"

namespace zazen {
namespace {

constexpr char kEnd[] = ".toml";
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostBytes = 1 << 20;  // of one file

struct Close {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Error about(const std::string& path, int code) {
  return Error{code, path + ": " + std::strerror(code), {}};
}

// Root takes no configuration from others.
std::optional<Error> refuse_of_others(const std::string& path, const struct stat& st) {
  if (::geteuid() != 0) return std::nullopt;
  if (st.st_uid != 0) {
    return Error{EPERM, fmt::format("{} is owned by uid {}", path, st.st_uid),
                 "chown root " + path};
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0) return std::nullopt;
  return Error{EPERM,
               fmt::format("{} is writable by others (mode {:04o})", path, st.st_mode & 07777),
               "chmod go-w " + path};
}

// Reads a regular file that is opened without waiting: a FIFO would block for ever.
Result<std::string> read_file(int directory, const std::string& name, const std::string& path) {
  const UniqueFd file(::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat st = {};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return about(path, errno);
  if (!S_ISREG(st.st_mode)) return Error{EINVAL, path + " is not a file", {}};
  if (const auto refused = refuse_of_others(path, st)) return *refused;
  std::string text(kMostBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return about(path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostBytes) {
    return Error{EFBIG, fmt::format("{} has more than {} bytes", path, kMostBytes), {}};
  }
  text.resize(size);
  return text;
}

// The directory of the pattern and the files there, in the order of their names.
struct Listed {
  std::string place;                      // with a '/' at its end, or ""
  std::unique_ptr<DIR, Close> directory;  // null if there are no files
  std::vector<std::string> paths;
};

Result<Listed> list(const std::string& config_file, const std::string& pattern) {
  const std::size_t slash = pattern.rfind('/');
  const std::string leaf = slash == pattern.npos ? pattern : pattern.substr(slash + 1);
  const std::string folder = slash == pattern.npos ? "" : pattern.substr(0, slash + 1);
  if (pattern.find('\0') != pattern.npos || !leaf.ends_with(kEnd) ||
      folder.find('*') != folder.npos) {
    return Error{EINVAL, fmt::format("'{}' is not a pattern for files", pattern),
                 "for example: include = \"conf.d/*.toml\""};
  }
  const std::size_t end_of_place = config_file.rfind('/');
  Listed listed;
  listed.place = pattern.starts_with('/') || end_of_place == config_file.npos
                     ? folder
                     : config_file.substr(0, end_of_place + 1) + folder;

  const std::string& place = listed.place;
  UniqueFd opened(
      ::open(place.empty() ? "." : place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() && errno == ENOENT) return listed;
  struct stat st = {};
  if (!opened.valid() || ::fstat(opened.get(), &st) != 0) return about(place, errno);
  const int fd = opened.get();
  listed.directory.reset(::fdopendir(fd));
  if (!listed.directory) return about(place, errno);
  opened.release();
  while (const dirent* entry = ::readdir(listed.directory.get())) {
    const std::string name = entry->d_name;
    const std::string path = place + name;
    if (name.starts_with('.') || !matches_pattern(name, leaf) || path == config_file) continue;
    listed.paths.push_back(path);
  }
  if (listed.paths.empty()) return listed;
  if (const auto refused = refuse_of_others(place.empty() ? "." : place, st)) return *refused;
  if (listed.paths.size() > kMostFiles) {
    return Error{E2BIG, fmt::format("{} has more than {} such files", place, kMostFiles), {}};
  }
  std::ranges::sort(listed.paths);
  return listed;
}

}  // namespace

bool matches_pattern(const std::string& name, const std::string& pattern) {
  std::size_t at = 0, in_pattern = 0, star = pattern.npos, after_star = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      after_star = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == name[at]) {
      ++at, ++in_pattern;
    } else if (star != pattern.npos) {
      in_pattern = star + 1;
      at = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == pattern.npos;
}

Result<std::vector<IncludedFile>> read_included(const std::string& config_file,
                                                const std::string& pattern) {
  const Result<Listed> listed = list(config_file, pattern);
  if (!listed) return listed.error();
  std::vector<IncludedFile> files;
  for (const std::string& path : listed->paths) {
    Result<std::string> text =
        read_file(::dirfd(listed->directory.get()), path.substr(listed->place.size()), path);
    if (!text) return text.error();
    files.push_back({path, std::move(*text)});
  }
  return files;
}

Result<std::vector<std::string>> included_paths(const std::string& config_file,
                                                const std::string& pattern) {
  Result<Listed> listed = list(config_file, pattern);
  if (!listed) return listed.error();
  return std::move(listed->paths);
}

}  // namespace zazen
