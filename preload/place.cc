#include "preload/place.h"

#include <alloca.h>

#include <cstring>

#include "bodhi/table.h"
#include "preload/raw.h"

namespace zazen {
namespace {

constexpr std::int64_t kLookAgainMs = 30'000;

// The directory that a path's first `length` bytes name. The callers' stacks may be small, and
// nearly all paths are short.
template <std::size_t kRoom>
[[gnu::noinline]] bool stat_parent(int dirfd, const char* path, std::size_t length,
                                   DirectoryKey* key) {
  char parent[kRoom];
  std::memcpy(parent, path, length);
  parent[length] = '\0';
  struct stat st;
  if (raw::fstatat(dirfd, length == 0 ? "." : parent, &st, 0) != 0) return false;
  *key = {st.st_dev, st.st_ino};
  return true;
}

bool parent_key(int dirfd, const char* path, std::size_t length, DirectoryKey* key) {
  constexpr std::size_t kFew = 256, kMost = 4096;
  if (length < kFew) return stat_parent<kFew>(dirfd, path, length, key);
  return length < kMost && stat_parent<kMost>(dirfd, path, length, key);
}

}  // namespace

bool DirectoryWatch::look(const Place& place, std::int64_t now_ms, DirectoryKey* key) {
  std::int64_t looked_at_ms = looked_at_ms_.load(std::memory_order_acquire);
  if (looked_at_ms == 0 || now_ms - looked_at_ms > kLookAgainMs) {
    std::size_t length = place.path_length;
    char* path =
        static_cast<char*>(alloca(length + 1 + place.name.directory_length() + sizeof "/."));
    std::memcpy(path, place.path, length);
    path[length++] = '/';
    std::memcpy(path + length, place.name.directory(), place.name.directory_length());
    length += place.name.directory_length();
    // Whoever may not search the directory itself has no business with what is in it.
    std::memcpy(path + length, "/.", sizeof "/.");
    struct stat st;
    bool found = raw::fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISDIR(st.st_mode);
    if (found) {
      dev_.store(st.st_dev, std::memory_order_relaxed);
      ino_.store(st.st_ino, std::memory_order_relaxed);
    }
    reachable_.store(found, std::memory_order_relaxed);
    // What could not be reached is looked for again after a second, not after thirty.
    looked_at_ms_.store(found ? now_ms : now_ms - kLookAgainMs + 1000,
                        std::memory_order_release);
  }
  *key = {dev_.load(std::memory_order_relaxed), ino_.load(std::memory_order_relaxed)};
  return reachable_.load(std::memory_order_relaxed);
}

bool make_place(const char* path, const char* frames, Place* place) {
  const char* why = nullptr;
  std::size_t length = std::strlen(frames);
  if (!FrameName::parse(frames, length, &place->name, &why)) return false;
  place->path = path;
  place->path_length = static_cast<std::uint32_t>(std::strlen(path));
  return place->path_length != 0;
}

bool match_letters(const Place& place, const char* path, std::size_t length, FrameSeq* seq) {
  std::size_t below = place.path_length + 1;
  return place.path_length != 0 && length > below && path[below - 1] == '/' &&
         std::memcmp(path, place.path, place.path_length) == 0 &&
         place.name.match(path + below, length - below, seq);
}

bool match_path(const Place& place, int dirfd, const char* path, std::size_t length,
                FrameSeq* seq) {
  if (place.path_length == 0) return false;
  if (match_letters(place, path, length, seq)) return true;
  std::size_t last = length;
  while (last > 0 && path[last - 1] != '/') --last;
  if (!place.name.match_last_component(path + last, length - last)) return false;
  std::size_t parent_length = 0;
  if (!place.name.match_tail(path, length, &parent_length, seq)) return false;
  DirectoryKey parent, own;
  return parent_key(dirfd, path, parent_length, &parent) && frame_directory(place, &own) &&
         parent == own;
}

bool match_entry_path(const Place& place, int dirfd, const char* path, std::size_t length,
                      FrameSeq* seq) {
  if (place.path_length == 0) return false;
  std::size_t last = length;
  while (last > 0 && path[last - 1] != '/') --last;
  DirectoryKey parent, own;
  return place.name.match_entry(path + last, length - last, seq) &&
         parent_key(dirfd, path, last, &parent) && frame_directory(place, &own) &&
         parent == own;
}

bool origin_path(const Place& place, FrameSeq seq, char* out, std::size_t capacity) {
  if (place.path_length + 2 > capacity) return false;
  std::memcpy(out, place.path, place.path_length);
  out[place.path_length] = '/';
  std::size_t used = place.path_length + 1;
  return place.name.format(seq, out + used, capacity - used) != 0;
}

}  // namespace zazen
