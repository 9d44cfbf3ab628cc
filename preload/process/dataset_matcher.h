// Whether a path names a frame, by its text or by its directory (D21). All datasets have one
// PathPrefilter, which excludes nearly every other path. Each dataset has a DatasetMatcher.
#pragma once
#include <emmintrin.h>

#include "bodhi/lean/requests/local_copy.h"
#include "preload/calls/hook.h"

namespace zazen {

// strlen without the call, which took 8 of the 15 ns of a first look. Loads of 16 aligned bytes
// touch no page that the string does not.
inline std::size_t text_length(const char* text) {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(text);
  const __m128i* at = reinterpret_cast<const __m128i*>(address & ~std::uintptr_t{15});
  const __m128i zero = _mm_setzero_si128();
  unsigned ends =
      static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(at), zero)));
  ends &= ~0u << (address & 15);
  while (ends == 0) {
    ends = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(++at), zero)));
  }
  return reinterpret_cast<std::uintptr_t>(at) + static_cast<unsigned>(__builtin_ctz(ends)) -
         address;
}

// PathPrefilter: separates nearly every path of a program from the frames, with one cache line
// of data: the last bytes of the frames' names. Every hook asks it first. If it answers no, the
// hook looks no further.
//
// The answer is valid while the daemon that published the datasets says that it serves.
// Otherwise every path may be a frame, and the hook may have to look for a daemon. An inactive
// shim never looks.
class alignas(64) PathPrefilter {
 public:
  constexpr explicit PathPrefilter(const std::atomic<DaemonState>* state) : state_(state) {}

  void add(const FrameName& name);
  // For jobs that count calls for files beside the frames: the common first bytes of all
  // datasets' paths, as many as fit.
  void add_directory(const char* path);
  void trust(const std::atomic<DaemonState>* state) {
    state_.store(state, std::memory_order_release);
  }

  // False: no frame, by its text alone. Null and "" are no frames.
  bool may_be_frame(const char* path) const {
    char last = last_byte(path);
    return last != '\0' && ends_a_frame(last);
  }
  // False: neither a frame nor a link of procfs to an open frame, by its text alone.
  bool may_lead_to_copy(const char* path) const {
    char last = last_byte(path);
    if (last == '\0') return false;
    char second = path[0] == '/' ? path[1] : '\0';
    bool in_proc = second == 'p' || second == 'd' || second == '/' || second == '.';
    bool is_number = path[0] != '/' && last >= '0' && last <= '9';
    return in_proc || is_number || ends_a_frame(last);
  }
  // False: it does not begin as a dataset's path does, or this job does not count.
  bool may_be_beside(const char* path) const {
    std::uint64_t begin = beside_.load(std::memory_order_relaxed);
    if (begin == 0 || !may_be_string(path)) [[likely]]
      return false;
    for (; begin != 0; begin >>= 8, ++path) {
      if (*path != static_cast<char>(begin & 0xff)) return false;
    }
    return true;
  }
  // By its text a relative path may lead anywhere.
  bool may_be_beside_by_file(const char* path) const {
    return counts_beside() && may_be_string(path) && *path != '/' && *path != '\0';
  }
  bool counts_beside() const { return beside_.load(std::memory_order_relaxed) != 0; }

 private:
  static char last_byte(const char* path) {
    std::size_t length = may_be_string(path) ? text_length(path) : 0;
    return length == 0 ? '\0' : path[length - 1];
  }
  bool ends_a_frame(char last) const {
    unsigned char bit = static_cast<unsigned char>(last);
    return (ends_[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0 ||
           state_.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) !=
               DaemonState::kServing;
  }
  void set(char byte);

  std::atomic<std::uint64_t> ends_[4] = {};
  std::atomic<const std::atomic<DaemonState>*> state_;
  std::atomic<std::uint64_t> beside_{0};
};

extern PathPrefilter path_prefilter;
// The state that path_prefilter reads before it knows a daemon.
extern const std::atomic<DaemonState> kNobodyServes;

// DatasetMatcher: where the frames of one dataset are.
//
// Routing first tests the last component alone. If that could be a frame's and the text of the
// path does not decide, it compares one stat of the parent directory with the dataset's frame
// directory (DirectoryWatch).
//
// Lives in zeroed memory of its own; never moves; only the atomics change.
struct DatasetMatcher {
  const char* path;           // of the dataset, in memory that outlives the matcher
  std::uint32_t path_length;  // 0: not usable, nothing matches
  std::uint32_t copies_length;
  const char* copies;  // the directory of the copies, with '/' at its end; null in a view
  FrameName name;
  std::uint64_t key;        // of the path, see bodhi/lean/run/ledger.h
  mutable CopyTrust trust;  // of this process
};

// False if the template does not parse; then the matcher matches nothing.
bool make_matcher(const char* path, const char* frames, DatasetMatcher* matcher);

// Does the text of the path name a frame of this dataset? Asks no file system.
bool match_letters(const DatasetMatcher& matcher, const char* path, std::size_t length,
                   FrameSeq* seq);

// Does (dirfd, path) name a frame of this dataset?
bool match_path(const DatasetMatcher& matcher, int dirfd, const char* path, std::size_t length,
                FrameSeq* seq);

// Does it name an entry of the frame directory that has a number?
bool match_entry_path(const DatasetMatcher& matcher, int dirfd, const char* path,
                      std::size_t length, FrameSeq* seq);

// The last component of a path whose directory is the dataset's frame directory; else null.
const char* name_in(const DatasetMatcher& matcher, int dirfd, const char* path);

inline bool frame_directory(const DatasetMatcher& matcher, DirectoryKey* key,
                            std::int64_t now_ms = monotonic_ms()) {
  return matcher.trust.directory.look(matcher.path, matcher.name, now_ms, key);
}

// Writes <dataset path>/<name of the frame>; false if it does not fit. The room for it.
inline std::size_t origin_path_room(const DatasetMatcher& matcher) {
  return matcher.path_length + 1 + matcher.name.most_length() + 1;
}
bool origin_path(const DatasetMatcher& matcher, FrameSeq seq, char* out, std::size_t capacity);

}  // namespace zazen
