#include "tools/commands/new_places.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "bodhi/config/cache_place.h"

namespace zazen {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// A directory, and the subdirectory that would be made in it.
struct Candidate {
  std::string parent, leaf;
};

std::string own_leaf() {
  return fmt::format("zazen-{}", ::geteuid());
}

std::vector<Candidate> candidates() {
  if (::geteuid() == 0) {
    return {{"/var/cache", "zazen"}, {"/scratch", "zazen"}, {"/local", "zazen"}};
  }
  std::vector<Candidate> list;
  const char* user = ::secure_getenv("USER");
  for (const char* place : {"/scratch", "/local/scratch", "/localscratch", "/local"}) {
    if (user != nullptr && *user != '\0')
      list.push_back({fmt::format("{}/{}", place, user), "zazen"});
    list.push_back({place, own_leaf()});
  }
  list.push_back({"/var/tmp", own_leaf()});
  return list;
}

// True if only root and this user can replace a directory in it.
bool is_safe_parent(const std::string& path) {
  struct stat st = {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
         (st.st_uid == 0 || st.st_uid == ::geteuid()) &&
         ((st.st_mode & kOthersWrite) == 0 || (st.st_mode & S_ISVTX) != 0) &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

bool is_own_directory(const struct stat& st) {
  return S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & kOthersWrite) == 0;
}

std::string random_suffix() {
  std::uint32_t number = 0;
  (void)!::getrandom(&number, sizeof number, 0);
  return fmt::format("-{:08x}", number);
}

// The free space in a directory; 0 if it is no place for a cache.
std::uint64_t room_in(const std::string& parent) {
  struct statfs kind = {};
  struct statvfs disk = {};
  if (!remote_filesystem(parent).empty() || ::statfs(parent.c_str(), &kind) != 0 ||
      kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC ||
      ::statvfs(parent.c_str(), &disk) != 0 || (disk.f_flag & ST_RDONLY) != 0) {
    return 0;
  }
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

// $XDG_RUNTIME_DIR, if it is a private directory of this user.
std::string user_runtime() {
  const char* path = ::secure_getenv("XDG_RUNTIME_DIR");
  struct stat st = {};
  if (path == nullptr || *path != '/' || ::stat(path, &st) != 0 || !is_own_directory(st))
    return {};
  return path;
}

}  // namespace

bool is_at_or_below(const std::string& inner, const std::string& outer) {
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '/');
}

Result<NewPlaces> choose_places(const std::string& dataset,
                                const std::optional<std::string>& cache) {
  NewPlaces places;
  if (cache) {
    places.cache = std::filesystem::absolute(*cache).lexically_normal();
    while (places.cache.size() > 1 && places.cache.ends_with('/')) places.cache.pop_back();
    places.runtime = places.cache + ".run";
    std::filesystem::path there = places.cache;
    while (!std::filesystem::exists(there)) there = there.parent_path();
    places.free_bytes = room_in(there);
    return places;
  }
  for (const Candidate& each : candidates()) {
    if (!is_safe_parent(each.parent)) continue;
    std::string base = each.parent + "/" + each.leaf;
    struct stat st = {};
    // Another user may have made it, or may make it.
    if (::lstat(base.c_str(), &st) == 0 && !is_own_directory(st)) base += random_suffix();
    if (is_at_or_below(base, dataset) || is_at_or_below(dataset, base)) continue;
    const std::uint64_t room = room_in(each.parent);
    if (room <= places.free_bytes) continue;
    places = {base, base + "/cache", base + "/run", room};
  }
  if (places.cache.empty()) {
    return Error{ENOENT, "no local disk found for the cache",
                 "name a directory on one: --cache DIR"};
  }
  if (::geteuid() == 0) {
    places = {"", places.made, "/run/zazen", places.free_bytes};
  } else if (const std::string runtime = user_runtime(); !runtime.empty()) {
    places.runtime = runtime + "/zazen";
  }
  return places;
}

}  // namespace zazen
