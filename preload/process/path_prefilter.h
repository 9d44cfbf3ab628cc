// PathPrefilter: separates nearly every path of a program from the frames, with one cache line
// of data: the last bytes of the frames' names. Every hook asks it first. If it answers no, the
// hook looks no further.
//
// The answer is valid while the daemon that published the datasets says that it serves.
// Otherwise every path may be a frame, and the hook may have to look for a daemon. An inactive
// shim never looks.
#pragma once
#include <emmintrin.h>

#include <atomic>
#include <cstdint>

#include "bodhi/lean/frames/table.h"
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

class alignas(64) PathPrefilter {
 public:
  constexpr explicit PathPrefilter(const std::atomic<DaemonState>* state) : state_(state) {}

  void add(const FrameName& name) {
    if (char byte = name.last_byte(); byte != '\0') {
      set(byte);
    } else {
      for (char digit = '0'; digit <= '9'; ++digit) set(digit);
    }
    const CompanionPatterns& companions = name.companions();
    for (std::size_t i = 0; i < companions.count(); ++i) set(companions.last_byte(i));
  }
  // For jobs that count calls for files beside the frames: the common first bytes of all
  // datasets' paths, as many as fit.
  void add_directory(const char* path) {
    const std::uint64_t known = beside_.load(std::memory_order_relaxed);
    std::uint64_t common = 0;
    for (unsigned shift = 0; shift < 64 && *path != '\0'; shift += 8, ++path) {
      const std::uint64_t byte = std::uint64_t{static_cast<unsigned char>(*path)} << shift;
      if (known != 0 && (known >> shift & 0xff) != byte >> shift) break;
      common |= byte;
    }
    beside_.store(common, std::memory_order_relaxed);
  }
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
  void set(char byte) {
    unsigned char bit = static_cast<unsigned char>(byte);
    ends_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> ends_[4] = {};
  std::atomic<const std::atomic<DaemonState>*> state_;
  std::atomic<std::uint64_t> beside_{0};
};

extern PathPrefilter path_prefilter;
// The state that path_prefilter reads before it knows a daemon.
extern const std::atomic<DaemonState> kNobodyServes;

}  // namespace zazen
