// FileVersion: which state of a configuration file was read, so that a later change is seen.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace zazen {

struct FileVersion {
  std::string path;
  dev_t dev = 0;
  ino_t ino = 0;  // 0: there is no such file
  off_t size = 0;
  std::int64_t mtime_ns = 0;

  static FileVersion of(const std::string& path, struct stat* found = nullptr) {
    struct stat st = {};
    FileVersion version{path};
    if (::stat(path.c_str(), &st) == 0) {
      version.dev = st.st_dev;
      version.ino = st.st_ino;
      version.size = st.st_size;
      version.mtime_ns = st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec;
    }
    if (found != nullptr) *found = st;
    return version;
  }
  bool operator==(const FileVersion&) const = default;
};

}  // namespace zazen
