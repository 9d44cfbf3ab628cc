// FrameName: a dataset's frame name template, compiled (D5).
//
// A template has exactly one {seq} or {seq:0W} (W digits at least, zero padded, 1 to 20):
// "f{seq}", "frame-{seq:06}.xtc", "run1/{seq}/traj.dcd". It maps sequence numbers to names one
// to one: "f01" is not a name of f{seq}, because 1 is written "f1". Names that do not match are
// ordinary files. Numbers go up to 2^64-1.
//
// The number is in one component of the path, the *entry*. The entries are in one directory
// below the dataset, the *frame directory* (often the dataset itself). A rank's listing filters
// this directory. Other files of the frame directory that are cached, the *companions*, have
// numbers from kFirstCompanion on (companion_patterns.h). A dataset with companions has no
// frames with such numbers. Lean, trivially copyable, no allocation.
#pragma once
#include <dirent.h>

#include "bodhi/lean/frames/companion_patterns.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

class FrameName {
 public:
  // False, with a phrase in *why, if the text is not a template: no {seq}, two of them, a
  // bad width, an empty, "." or ".." component, a leading or trailing '/', a NUL, too long.
  static bool parse(const char* text, std::size_t length, FrameName* out, const char** why);

  // Adds companions, by their patterns, joined by '/'. False, with a phrase in *why.
  bool add_also(const char* text, std::size_t length, const char** why);
  bool is_companion(FrameSeq seq) const {
    return seq >= kFirstCompanion && companions_.count() != 0;
  }

  // Whole name of a frame or a companion, relative to the dataset's directory.
  bool match(const char* name, std::size_t length, FrameSeq* seq) const;
  // Writes the name and a NUL. Returns its length, or 0 if it does not fit or the number has no
  // name.
  std::size_t format(FrameSeq seq, char* out, std::size_t capacity) const;

  std::size_t most_length() const;

  // A frame or a companion, by the component that contains the number or the companion's name.
  bool match_held_entry(const char* entry, std::size_t length, FrameSeq* seq) const {
    return match_entry(entry, length, seq) || match_companion(entry, length, seq);
  }
  // Frames only: the component that contains the number, as a directory listing shows it.
  bool match_entry(const char* entry, std::size_t length, FrameSeq* seq) const;
  std::size_t format_entry(FrameSeq seq, char* out, std::size_t capacity) const;

  // Could a path that ends in this last component name a frame? The first check of all (D21).
  bool match_last_component(const char* name, std::size_t length) const;
  // The last byte of every frame's name; 0 if that is the number's last digit.
  char last_byte() const { return suffix_length_ == 0 ? '\0' : suffix_[suffix_length_ - 1]; }
  const CompanionPatterns& companions() const { return companions_; }
  // Does the path end as a frame below the frame directory does? If so, it is a frame if its
  // first *parent_length bytes ("" means ".") name that directory.
  bool match_tail(const char* path, std::size_t length, std::size_t* parent_length,
                  FrameSeq* seq) const;

  // Directory of the entries relative to the dataset, without slashes at its ends; "" if it
  // is the dataset itself.
  const char* directory() const { return prefix_; }  // only directory_length() bytes of it
  std::size_t directory_length() const { return directory_length_; }
  // True if an entry is a directory that holds the frame, as in "{seq}/traj.dcd".
  bool entry_is_directory() const { return entry_suffix_length_ != suffix_length_; }
  // Could an entry of this type (DT_*) be a frame? A link, or an unknown type, may be.
  bool type_fits(std::uint8_t type) const {
    return type == DT_UNKNOWN || type == DT_LNK ||
           type == (entry_is_directory() ? DT_DIR : DT_REG);
  }

 private:
  static constexpr std::size_t kMostDigits = 20;  // of 2^64, and of a width

  std::size_t frame_length() const { return prefix_length_ + kMostDigits + suffix_length_; }
  bool match_entry_parts(const char* entry, std::size_t length, FrameSeq* seq) const;
  bool match_companion(const char* entry, std::size_t length, FrameSeq* seq) const;

  char prefix_[kMaxTemplate] = {};  // the part before the number: "run1/f"
  char suffix_[kMaxTemplate] = {};  // the part after the number: "/traj.dcd", ".xtc"
  std::uint16_t prefix_length_ = 0;
  std::uint16_t suffix_length_ = 0;
  std::uint16_t directory_length_ = 0;     // "run1"
  std::uint16_t entry_prefix_offset_ = 0;  // where "f" begins in prefix_
  std::uint16_t entry_suffix_length_ = 0;  // up to the first '/' of suffix_
  std::uint16_t width_ = 0;                // 0: no padding
  CompanionPatterns companions_;
};

}  // namespace zazen
