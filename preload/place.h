// Place: where the frames of one dataset lie, in the form in which routing asks (D21).
//
// "Could this be a frame?" is first asked of the last component alone. Only if it could, and
// the path is not plainly the dataset's, one stat of the parent directory is compared with
// the dataset's frame directory, which is looked up at first use and again every 30 s: so a
// directory that was replaced, or that this process may no longer reach, counts (D15).
//
// Lives in zeroed memory of its own; never moves; only the atomics change.
#pragma once
#include <sys/types.h>

#include <atomic>

#include "bodhi/frame_name.h"
#include "bodhi/table.h"

namespace zazen {

struct DirectoryKey {
  dev_t dev;
  ino_t ino;
  bool operator==(const DirectoryKey&) const = default;
};

// Device and inode of a directory that may change, readable without a lock.
class DirectoryWatch {
 public:
  // False if the directory cannot be reached; *key is where it was found last (ino 0: never).
  bool look(const struct Place& place, std::int64_t now_ms, DirectoryKey* key);
  void forget() { looked_at_ms_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> dev_;  // where it was found last
  std::atomic<std::uint64_t> ino_;
  std::atomic<bool> reachable_;
  std::atomic<std::int64_t> looked_at_ms_;  // 0: never
};

struct Place {
  const char* path;           // of the dataset, in memory that outlives the place
  std::uint32_t path_length;  // 0: not usable, nothing matches
  std::uint32_t copies_length;
  const char* copies;  // where they lie, with '/' at its end; null in a view
  FrameName name;
  mutable DirectoryWatch directory;
  // D10: when this process last looked whether the copies are the origin's (0: never), and
  // whether it must check every open: a copy was stale, or the daemon could not say.
  mutable std::atomic<std::int64_t> looked_at_copies_ms;
  mutable std::atomic<std::int64_t> looking_since_ms;  // 0: nobody is
  mutable std::atomic<bool> distrusted;
};

// False if the template does not parse; then the place matches nothing.
bool make_place(const char* path, const char* frames, Place* place);

// Does the path name a frame of this dataset letter by letter? Asks no file system.
bool match_letters(const Place& place, const char* path, std::size_t length, FrameSeq* seq);

// Does (dirfd, path) name a frame of this dataset?
bool match_path(const Place& place, int dirfd, const char* path, std::size_t length,
                FrameSeq* seq);

// Does it name an entry of the frame directory that has a number?
bool match_entry_path(const Place& place, int dirfd, const char* path, std::size_t length,
                      FrameSeq* seq);

inline bool frame_directory(const Place& place, DirectoryKey* key,
                            std::int64_t now_ms = monotonic_ms()) {
  return place.directory.look(place, now_ms, key);
}

// Writes <dataset path>/<name of the frame>; false if it does not fit in there. The room that
// it takes.
inline std::size_t origin_path_room(const Place& place) {
  return place.path_length + 1 + place.name.most_length() + 1;
}
bool origin_path(const Place& place, FrameSeq seq, char* out, std::size_t capacity);

}  // namespace zazen
