#include "tools/doctor/shared_libraries.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/support/shim_environment.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLibraries = 4096;
constexpr char kCacheMagic[] = "glibc-ld.so.cache1.1";

struct CacheHead {
  char magic[sizeof kCacheMagic - 1];
  std::uint32_t count;
  std::uint32_t strings_size;
  std::uint32_t unused[5];
};
static_assert(sizeof(CacheHead) == 48);

struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;  // both are offsets in the text
  std::uint32_t path;
  std::uint32_t unused;
  std::uint64_t capabilities;
};
static_assert(sizeof(CacheEntry) == 24);

std::string string_at(const std::string& text, std::size_t offset) {
  if (offset >= text.size()) return {};
  return std::string(text.c_str() + offset,
                     strnlen(text.c_str() + offset, text.size() - offset));
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split_path(const std::string& list, const std::string& origin) {
  std::vector<std::string> directories;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = list.find(':', begin);
    if (end == std::string::npos) end = list.size();
    std::string directory = list.substr(begin, end - begin);
    for (const char* word : {"${ORIGIN}", "$ORIGIN"}) {
      std::size_t at = directory.find(word);
      if (at != std::string::npos) directory.replace(at, std::strlen(word), origin);
    }
    directories.push_back(directory.empty() ? "." : directory);
    begin = end + 1;
  }
  return directories;
}

class Search {
 public:
  Search(const ElfFile& program, const std::string& loader_cache)
      : machine_(program.machine), cache_(read_whole(loader_cache)) {}

  // "" if the library is not found. `inherited` is the DT_RPATH of the libraries that led to
  // it.
  std::string find(const std::string& name, const std::string& asker, const ElfFile& file,
                   const std::vector<std::string>& inherited) const {
    if (name.find('/') != std::string::npos) return fits(name) ? name : "";
    std::string origin = fs::path(asker).parent_path().string();
    std::vector<std::string> directories;
    auto append = [&](const std::vector<std::string>& more) {
      directories.insert(directories.end(), more.begin(), more.end());
    };
    if (file.runpath.empty()) append(split_path(file.rpath, origin));
    if (file.runpath.empty()) append(inherited);
    append(split_path(variable("LD_LIBRARY_PATH"), origin));
    append(split_path(file.runpath, origin));
    for (const std::string& directory : directories) {
      if (fits(directory + "/" + name)) return directory + "/" + name;
    }
    for (const std::string& path : find_in_loader_cache(cache_, name)) {
      if (fits(path)) return path;
    }
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
      if (std::string path = std::string(directory) + "/" + name; fits(path)) return path;
    }
    return "";
  }

 private:
  bool fits(const std::string& path) const {
    Result<ElfFile> file = read_elf(path);
    return file && file->is_native() && file->machine == machine_;
  }

  std::uint16_t machine_;
  std::string cache_;
};

}  // namespace

std::vector<std::string> find_in_loader_cache(const std::string& text,
                                              const std::string& name) {
  std::vector<std::string> paths;
  CacheHead head;
  // An old cache has a header of another format in front, which no present loader writes.
  if (text.size() < sizeof head) return paths;
  std::memcpy(&head, text.data(), sizeof head);
  if (std::memcmp(head.magic, kCacheMagic, sizeof head.magic) != 0) return paths;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    std::size_t at = sizeof head + std::size_t{i} * sizeof(CacheEntry);
    CacheEntry entry;
    if (at + sizeof entry > text.size()) break;
    std::memcpy(&entry, text.data() + at, sizeof entry);
    if (entry.capabilities == 0 && string_at(text, entry.name) == name) {
      paths.push_back(string_at(text, entry.path));
    }
  }
  return paths;
}

SharedLibraries libraries_of(const std::string& path, const ElfFile& program,
                             const std::string& loader_cache) {
  struct Loaded {
    std::string path;
    ElfFile file;
    std::vector<std::string> inherited;
  };
  SharedLibraries found;
  Search search(program, loader_cache);
  std::deque<Loaded> queue{{path, program, {}}};
  while (!queue.empty() && found.names.size() < kMaxLibraries) {
    Loaded asker = std::move(queue.front());
    queue.pop_front();
    std::vector<std::string> inherited = asker.inherited;
    if (asker.file.runpath.empty()) {
      std::string origin = fs::path(asker.path).parent_path().string();
      for (std::string& each : split_path(asker.file.rpath, origin)) {
        inherited.push_back(std::move(each));
      }
    }
    for (const std::string& name : asker.file.needed) {
      if (!found.names.insert(name).second) continue;
      std::string library = search.find(name, asker.path, asker.file, asker.inherited);
      Result<ElfFile> file = library.empty() ? Error{ENOENT, name, {}} : read_elf(library);
      if (!file) {
        found.missing.push_back(name);
      } else {
        queue.push_back({library, std::move(*file), inherited});
      }
    }
  }
  return found;
}

}  // namespace zazen
