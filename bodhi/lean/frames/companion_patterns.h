// CompanionPatterns: files beside a dataset's frames that are cached as frames are. Each such
// name maps to a number, which identifies it in the whole cache.
//
// A pattern is a name with at most one '*' in it: "top.pdb", "*.pdb", ".*_offsets.npz". A
// number encodes the whole name, so no table of names is needed, and two names never have the
// same number. The '*' therefore stands for the name of a frame, or for up to kMostLetters of
// A-Z a-z 0-9 '_' '.' '-'. Other names are ordinary files. The numbers begin at
// kFirstCompanion. Lean, trivially copyable, no allocation.
#pragma once
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr FrameSeq kFirstCompanion = FrameSeq{1} << 63;
inline constexpr std::size_t kMaxAlso = 320;  // of the patterns' text, joined by '/'

class CompanionPatterns {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::size_t kMostLetters = 10;

  // False, with a phrase in *why: too many, too long, two '*', a '*' at the end, a control
  // character, "." or "..". `text` has the patterns joined by '/'; "" is none.
  static bool parse(const char* text, std::size_t length, CompanionPatterns* out,
                    const char** why);

  std::size_t count() const { return count_; }
  std::size_t longest() const;  // of the patterns
  char last_byte(std::size_t i) const { return text_[begin_[i] + length_[i] - 1]; }

  // match_frame(text, length, &seq) tells whether the text is a frame's name.
  template <class MatchFrame>
  bool match(const char* name, std::size_t length, MatchFrame match_frame,
             FrameSeq* seq) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const char* rest = nullptr;
      std::size_t rest_length = 0;
      if (!fits(i, name, length, &rest, &rest_length)) continue;
      FrameSeq frame;
      std::uint64_t payload = 0;
      if (rest != nullptr && match_frame(rest, rest_length, &frame) && frame < kFrames) {
        payload = kTexts + frame;
      } else if (!letters_to_number(rest, rest_length, &payload)) {
        continue;
      }
      *seq = kFirstCompanion + i * kOfPattern + payload;
      return true;
    }
    return false;
  }
  // Writes the name without a NUL. Returns its length, or 0 if the number encodes no name or
  // the name does not fit. format_frame(seq, out, capacity) writes the name of a frame.
  template <class FormatFrame>
  std::size_t format(FrameSeq seq, FormatFrame format_frame, char* out,
                     std::size_t capacity) const {
    const std::uint64_t number = seq - kFirstCompanion;
    const std::size_t i = number / kOfPattern;
    const std::uint64_t payload = number % kOfPattern;
    if (i >= count_) return 0;
    const std::size_t before = head(i), after = has_star(i) ? length_[i] - before - 1 : 0;
    if (length_[i] + 1u > capacity) return 0;
    copy(out, i, 0, before);
    std::size_t used = before;
    if (payload >= kTexts) {
      const std::size_t size =
          has_star(i) ? format_frame(payload - kTexts, out + used, capacity - used) : 0;
      if (size == 0) return 0;
      used += size;
    } else if (!number_to_letters(payload, has_star(i), out, &used, capacity)) {
      return 0;
    }
    if (used + after > capacity) return 0;
    copy(out + used, i, length_[i] - after, after);
    return used + after;
  }

 private:
  static constexpr std::uint64_t kBase = 66;  // the letters, and 0 for "no letter"
  static constexpr std::uint64_t kTexts = [] {
    std::uint64_t all = 1;
    for (std::size_t i = 0; i < kMostLetters; ++i) all *= kBase;
    return all;
  }();
  static constexpr std::uint64_t kOfPattern = kFirstCompanion / kMost;
  static constexpr std::uint64_t kFrames = kOfPattern - kTexts;  // 2.7e17

  bool has_star(std::size_t i) const { return star_[i] < length_[i]; }
  std::size_t head(std::size_t i) const { return star_[i]; }  // length before the '*'
  void copy(char* out, std::size_t i, std::size_t from, std::size_t size) const;
  // *rest: the text that the '*' stands for, null if there is none.
  bool fits(std::size_t i, const char* name, std::size_t length, const char** rest,
            std::size_t* rest_length) const;
  static bool letters_to_number(const char* text, std::size_t length, std::uint64_t* number);
  static bool number_to_letters(std::uint64_t number, bool has_star, char* out,
                                std::size_t* used, std::size_t capacity);

  char text_[kMaxAlso] = {};
  std::uint16_t begin_[kMost] = {}, length_[kMost] = {};
  std::uint16_t star_[kMost] = {};  // position of the '*'; the length if there is none
  std::uint16_t count_ = 0;
};

}  // namespace zazen
