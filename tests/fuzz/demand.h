// Shared by the fuzzers: a demand that crashes if it fails, bytes as in a mapping, and a
// directory in memory for parsers of files.
#pragma once
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace zazen {

inline void demand(bool holds) {
  if (!holds) std::abort();
}

// Aligned as a mapping is, and not a byte longer, so that the sanitizer sees every step too
// far.
class MappedBytes {
 public:
  MappedBytes(const void* bytes, std::size_t size) : memory_(::malloc(size)), size_(size) {
    if (size != 0) std::memcpy(memory_, bytes, size);
  }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  ~MappedBytes() { ::free(memory_); }

  template <class T>
  T* as() {
    return static_cast<T*>(memory_);
  }
  std::size_t size() const { return size_; }

 private:
  void* memory_;
  std::size_t size_;
};

class ScratchDirectory {
 public:
  ScratchDirectory() : ScratchDirectory(usual_parent()) {}
  explicit ScratchDirectory(const std::string& parent) : path_(parent + "/zazen-fuzz.XXXXXX") {
    demand(::mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string write(const char* name, std::string_view bytes) const {
    std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    demand(::chmod(file.c_str(), 0600) == 0);
    return file;
  }

 private:
  static std::string usual_parent() {
    const char* parent = ::getenv("TMPDIR");
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : parent ? parent : "/tmp";
  }

  std::string path_;
};

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace zazen
