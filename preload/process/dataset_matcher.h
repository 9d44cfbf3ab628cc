// DatasetMatcher: where the frames of one dataset are, in the form that routing needs (D21).
//
// Routing first tests the last component alone. If that could be a frame's and the text of the
// path does not decide, it compares one stat of the parent directory with the dataset's frame
// directory (bodhi/lean/requests/directory_watch.h).
//
// Lives in zeroed memory of its own; never moves; only the atomics change.
#pragma once
#include "bodhi/lean/requests/local_copy.h"

namespace zazen {

struct DatasetMatcher {
  const char* path;           // of the dataset, in memory that outlives the place
  std::uint32_t path_length;  // 0: not usable, nothing matches
  std::uint32_t copies_length;
  const char* copies;  // the directory of the copies, with '/' at its end; null in a view
  FrameName name;
  std::uint64_t key;        // of the path, see bodhi/lean/run/ledger.h
  mutable CopyTrust trust;  // of this process
};

// False if the template does not parse; then the place matches nothing.
bool make_matcher(const char* path, const char* frames, DatasetMatcher* place);

// Does the text of the path name a frame of this dataset? Asks no file system.
bool match_letters(const DatasetMatcher& place, const char* path, std::size_t length,
                   FrameSeq* seq);

// Does (dirfd, path) name a frame of this dataset?
bool match_path(const DatasetMatcher& place, int dirfd, const char* path, std::size_t length,
                FrameSeq* seq);

// Does it name an entry of the frame directory that has a number?
bool match_entry_path(const DatasetMatcher& place, int dirfd, const char* path,
                      std::size_t length, FrameSeq* seq);

// The last component of a path whose directory is the dataset's frame directory; else null.
const char* name_in(const DatasetMatcher& place, int dirfd, const char* path);

inline bool frame_directory(const DatasetMatcher& place, DirectoryKey* key,
                            std::int64_t now_ms = monotonic_ms()) {
  return place.trust.directory.look(place.path, place.name, now_ms, key);
}

// Writes <dataset path>/<name of the frame>; false if it does not fit. The room for it.
inline std::size_t origin_path_room(const DatasetMatcher& place) {
  return place.path_length + 1 + place.name.most_length() + 1;
}
bool origin_path(const DatasetMatcher& place, FrameSeq seq, char* out, std::size_t capacity);

}  // namespace zazen
