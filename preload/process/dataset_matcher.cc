#include "preload/process/dataset_matcher.h"

#include <cstring>

#include "bodhi/lean/run/ledger.h"
#include "preload/calls/raw.h"

namespace zazen {
namespace {

// The directory that a path's first `length` bytes name. The callers' stacks may be small, and
// nearly all paths are short; so there are two sizes of buffer.
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

bool make_matcher(const char* path, const char* frames, DatasetMatcher* place) {
  const char* why = nullptr;
  std::size_t length = std::strlen(frames);
  if (!FrameName::parse(frames, length, &place->name, &why)) return false;
  place->path = path;
  place->path_length = static_cast<std::uint32_t>(std::strlen(path));
  place->key = text_key(path);
  return place->path_length != 0;
}

bool match_letters(const DatasetMatcher& place, const char* path, std::size_t length,
                   FrameSeq* seq) {
  std::size_t below = place.path_length + 1;
  return place.path_length != 0 && length > below && path[below - 1] == '/' &&
         std::memcmp(path, place.path, place.path_length) == 0 &&
         place.name.match(path + below, length - below, seq);
}

bool match_path(const DatasetMatcher& place, int dirfd, const char* path, std::size_t length,
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

bool match_entry_path(const DatasetMatcher& place, int dirfd, const char* path,
                      std::size_t length, FrameSeq* seq) {
  if (place.path_length == 0) return false;
  std::size_t last = length;
  while (last > 0 && path[last - 1] != '/') --last;
  DirectoryKey parent, own;
  return place.name.match_entry(path + last, length - last, seq) &&
         parent_key(dirfd, path, last, &parent) && frame_directory(place, &own) &&
         parent == own;
}

const char* name_in(const DatasetMatcher& place, int dirfd, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  DirectoryKey parent, own;
  const bool is_there =
      place.path_length != 0 &&
      parent_key(dirfd, path, static_cast<std::size_t>(name - path), &parent) &&
      frame_directory(place, &own) && parent == own;
  return is_there ? name : nullptr;
}

bool origin_path(const DatasetMatcher& place, FrameSeq seq, char* out, std::size_t capacity) {
  if (place.path_length + 2 > capacity) return false;
  std::memcpy(out, place.path, place.path_length);
  out[place.path_length] = '/';
  std::size_t used = place.path_length + 1;
  return place.name.format(seq, out + used, capacity - used) != 0;
}

}  // namespace zazen
