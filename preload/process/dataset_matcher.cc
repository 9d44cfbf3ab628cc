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

constinit const std::atomic<DaemonState> kNotActive{DaemonState::kServing};

}  // namespace

constinit const std::atomic<DaemonState> kNobodyServes{DaemonState::kStopped};
constinit PathPrefilter path_prefilter{&kNotActive};

void PathPrefilter::add(const FrameName& name) {
  if (char byte = name.last_byte(); byte != '\0') {
    set(byte);
  } else {
    for (char digit = '0'; digit <= '9'; ++digit) set(digit);
  }
  const CompanionPatterns& companions = name.companions();
  for (std::size_t i = 0; i < companions.count(); ++i) set(companions.last_byte(i));
}

void PathPrefilter::add_directory(const char* path) {
  const std::uint64_t known = beside_.load(std::memory_order_relaxed);
  std::uint64_t common = 0;
  for (unsigned shift = 0; shift < 64 && *path != '\0'; shift += 8, ++path) {
    const std::uint64_t byte = std::uint64_t{static_cast<unsigned char>(*path)} << shift;
    if (known != 0 && (known >> shift & 0xff) != byte >> shift) break;
    common |= byte;
  }
  beside_.store(common, std::memory_order_relaxed);
}

void PathPrefilter::set(char byte) {
  unsigned char bit = static_cast<unsigned char>(byte);
  ends_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
}

bool make_matcher(const char* path, const char* frames, DatasetMatcher* matcher) {
  const char* why = nullptr;
  std::size_t length = std::strlen(frames);
  if (!FrameName::parse(frames, length, &matcher->name, &why)) return false;
  matcher->path = path;
  matcher->path_length = static_cast<std::uint32_t>(std::strlen(path));
  matcher->key = text_key(path);
  return matcher->path_length != 0;
}

bool match_letters(const DatasetMatcher& matcher, const char* path, std::size_t length,
                   FrameSeq* seq) {
  std::size_t below = matcher.path_length + 1;
  return matcher.path_length != 0 && length > below && path[below - 1] == '/' &&
         std::memcmp(path, matcher.path, matcher.path_length) == 0 &&
         matcher.name.match(path + below, length - below, seq);
}

bool match_path(const DatasetMatcher& matcher, int dirfd, const char* path, std::size_t length,
                FrameSeq* seq) {
  if (matcher.path_length == 0) return false;
  if (match_letters(matcher, path, length, seq)) return true;
  std::size_t last = length;
  while (last > 0 && path[last - 1] != '/') --last;
  if (!matcher.name.match_last_component(path + last, length - last)) return false;
  std::size_t parent_length = 0;
  if (!matcher.name.match_tail(path, length, &parent_length, seq)) return false;
  DirectoryKey parent, own;
  return parent_key(dirfd, path, parent_length, &parent) && frame_directory(matcher, &own) &&
         parent == own;
}

bool match_entry_path(const DatasetMatcher& matcher, int dirfd, const char* path,
                      std::size_t length, FrameSeq* seq) {
  if (matcher.path_length == 0) return false;
  std::size_t last = length;
  while (last > 0 && path[last - 1] != '/') --last;
  DirectoryKey parent, own;
  return matcher.name.match_entry(path + last, length - last, seq) &&
         parent_key(dirfd, path, last, &parent) && frame_directory(matcher, &own) &&
         parent == own;
}

const char* name_in(const DatasetMatcher& matcher, int dirfd, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  DirectoryKey parent, own;
  const bool is_there =
      matcher.path_length != 0 &&
      parent_key(dirfd, path, static_cast<std::size_t>(name - path), &parent) &&
      frame_directory(matcher, &own) && parent == own;
  return is_there ? name : nullptr;
}

bool origin_path(const DatasetMatcher& matcher, FrameSeq seq, char* out, std::size_t capacity) {
  if (matcher.path_length + 2 > capacity) return false;
  std::memcpy(out, matcher.path, matcher.path_length);
  out[matcher.path_length] = '/';
  std::size_t used = matcher.path_length + 1;
  return matcher.name.format(seq, out + used, capacity - used) != 0;
}

}  // namespace zazen
