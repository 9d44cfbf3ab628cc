// A template is split once, at its number, into a prefix and a suffix. A name matches if it has
// both and the rest is the one spelling of a number. Both have a fixed length, so a digit in
// the prefix or suffix is not ambiguous.
#include "bodhi/lean/frames/frame_name.h"

#include <cstring>

#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

constexpr std::size_t kMaxDigits = 20;  // of 2^64-1
constexpr char kOpening[] = "{seq";
constexpr std::size_t kOpeningLength = sizeof kOpening - 1;

// Offset of the next "{seq}" or "{seq:" at or after `from`, or length.
std::size_t find_number(const char* text, std::size_t length, std::size_t from) {
  for (std::size_t at = from; at + kOpeningLength < length; ++at) {
    if (std::memcmp(text + at, kOpening, kOpeningLength) != 0) continue;
    char next = text[at + kOpeningLength];
    if (next == '}' || next == ':') return at;
  }
  return length;
}

// The width in "0W}" at text; *used is its length including the brace. 0 if it is malformed.
std::uint16_t parse_width(const char* text, std::size_t length, std::size_t* used) {
  if (length < 3 || text[0] != '0' || text[1] < '1' || text[1] > '9') return 0;
  unsigned width = static_cast<unsigned>(text[1] - '0');
  std::size_t at = 2;
  if (text[at] >= '0' && text[at] <= '9') {
    width = width * 10 + static_cast<unsigned>(text[at] - '0');
    ++at;
  }
  if (at >= length || text[at] != '}' || width > kMaxDigits) return 0;
  *used = at + 1;
  return static_cast<std::uint16_t>(width);
}

bool component_is(const char* text, std::size_t length, const char* what) {
  return length == std::strlen(what) && std::memcmp(text, what, length) == 0;
}

const char* complain_of_components(const char* text, std::size_t length) {
  if (text[0] == '/') return "it begins with '/': names are relative to the dataset";
  if (text[length - 1] == '/') return "it ends with '/'";
  for (std::size_t begin = 0; begin <= length;) {
    const void* slash = std::memchr(text + begin, '/', length - begin);
    std::size_t end =
        slash ? static_cast<std::size_t>(static_cast<const char*>(slash) - text) : length;
    std::size_t size = end - begin;
    if (size == 0) return "it has an empty component";
    if (component_is(text + begin, size, ".") || component_is(text + begin, size, "..")) {
      return "it has a '.' or '..' component";
    }
    if (begin == 0 && component_is(text, size, kDatasetStateDirectory)) {
      return "'.zazen' is the cache's own directory";
    }
    begin = end + 1;
  }
  return nullptr;
}

// The number whose only spelling these digits are.
bool parse_number(const char* digits, std::size_t length, std::size_t width, FrameSeq* seq) {
  std::size_t shortest = width > 0 ? width : 1;
  if (length < shortest || length > kMaxDigits) return false;
  if (length > shortest && digits[0] == '0') return false;
  FrameSeq value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    if (__builtin_mul_overflow(value, FrameSeq{10}, &value) ||
        __builtin_add_overflow(value, static_cast<FrameSeq>(digits[i] - '0'), &value)) {
      return false;
    }
  }
  *seq = value;
  return true;
}

bool match_parts(const char* name, std::size_t length, const char* prefix,
                 std::size_t prefix_length, const char* suffix, std::size_t suffix_length,
                 std::size_t width, FrameSeq* seq) {
  if (length <= prefix_length + suffix_length) return false;
  if (std::memcmp(name, prefix, prefix_length) != 0) return false;
  if (std::memcmp(name + length - suffix_length, suffix, suffix_length) != 0) return false;
  return parse_number(name + prefix_length, length - prefix_length - suffix_length, width, seq);
}

std::size_t format_parts(FrameSeq seq, const char* prefix, std::size_t prefix_length,
                         const char* suffix, std::size_t suffix_length, std::size_t width,
                         char* out, std::size_t capacity) {
  char digits[kMaxDigits];
  std::size_t count = 0;
  do {
    digits[kMaxDigits - ++count] = static_cast<char>('0' + seq % 10);
    seq /= 10;
  } while (seq != 0);
  while (count < width) digits[kMaxDigits - ++count] = '0';

  std::size_t length = prefix_length + count + suffix_length;
  if (length + 1 > capacity) return 0;
  std::memcpy(out, prefix, prefix_length);
  std::memcpy(out + prefix_length, digits + kMaxDigits - count, count);
  std::memcpy(out + prefix_length + count, suffix, suffix_length);
  out[length] = '\0';
  return length;
}

}  // namespace

bool FrameName::parse(const char* text, std::size_t length, FrameName* out, const char** why) {
  auto refuse = [why](const char* phrase) {
    *why = phrase;
    return false;
  };
  if (length == 0) return refuse("it is empty");
  if (length >= kMaxTemplate) return refuse("it is longer than 255 bytes");
  if (std::memchr(text, '\0', length)) return refuse("it has a NUL");

  std::size_t number = find_number(text, length, 0);
  if (number == length) return refuse("it has no {seq}");
  std::size_t rest = number + kOpeningLength + 1;
  std::uint16_t width = 0;
  if (text[rest - 1] == ':') {
    std::size_t used = 0;
    width = parse_width(text + rest, length - rest, &used);
    if (width == 0) return refuse("its width is not of the form {seq:06}, 1 to 20 digits");
    rest += used;
  }
  if (find_number(text, length, rest) != length) return refuse("it has more than one {seq}");
  if (const char* phrase = complain_of_components(text, length)) return refuse(phrase);

  FrameName name;
  name.prefix_length_ = static_cast<std::uint16_t>(number);
  name.suffix_length_ = static_cast<std::uint16_t>(length - rest);
  name.width_ = width;
  std::memcpy(name.prefix_, text, number);
  std::memcpy(name.suffix_, text + rest, length - rest);
  if (const void* slash = ::memrchr(name.prefix_, '/', number)) {
    name.directory_length_ =
        static_cast<std::uint16_t>(static_cast<const char*>(slash) - name.prefix_);
    name.entry_prefix_offset_ = static_cast<std::uint16_t>(name.directory_length_ + 1);
  }
  const void* slash = std::memchr(name.suffix_, '/', name.suffix_length_);
  name.entry_suffix_length_ =
      slash ? static_cast<std::uint16_t>(static_cast<const char*>(slash) - name.suffix_)
            : name.suffix_length_;
  *out = name;
  return true;
}

// Callers have buffers of kMaxTemplate + 32 bytes.
bool FrameName::add_also(const char* text, std::size_t length, const char** why) {
  CompanionPatterns patterns;
  if (!CompanionPatterns::parse(text, length, &patterns, why)) return false;
  FrameName with = *this;
  with.companions_ = patterns;
  if (entry_is_directory()) {
    const char* last = static_cast<const char*>(::memrchr(suffix_, '/', suffix_length_)) + 1;
    FrameSeq seq;
    if (with.match_companion(last, static_cast<std::size_t>(suffix_ + suffix_length_ - last),
                             &seq)) {
      *why = "a pattern fits the frames' own names";
      return false;
    }
  }
  if (with.most_length() >= kMaxTemplate + 32) {
    *why = "the names would be too long";
    return false;
  }
  *this = with;
  return true;
}

std::size_t FrameName::most_length() const {
  if (companions_.count() == 0) return frame_length();
  const std::size_t star = entry_is_directory() ? 0 : frame_length() - entry_prefix_offset_;
  const std::size_t rest = star > CompanionPatterns::kMostLetters
                               ? star
                               : std::size_t{CompanionPatterns::kMostLetters};
  const std::size_t companion = entry_prefix_offset_ + companions_.longest() + rest;
  return companion > frame_length() ? companion : frame_length();
}

bool FrameName::match_companion(const char* entry, std::size_t length, FrameSeq* seq) const {
  FrameSeq frame;
  if (companions_.count() == 0 || match_entry_parts(entry, length, &frame)) return false;
  return companions_.match(
      entry, length,
      [this](const char* text, std::size_t size, FrameSeq* of_frame) {
        return !entry_is_directory() && match_entry(text, size, of_frame);
      },
      seq);
}

bool FrameName::match(const char* name, std::size_t length, FrameSeq* seq) const {
  if (match_parts(name, length, prefix_, prefix_length_, suffix_, suffix_length_, width_,
                  seq)) {
    return !is_companion(*seq);
  }
  const std::size_t above = entry_prefix_offset_;
  return companions_.count() != 0 && length > above && std::memcmp(name, prefix_, above) == 0 &&
         match_companion(name + above, length - above, seq);
}

std::size_t FrameName::format(FrameSeq seq, char* out, std::size_t capacity) const {
  if (is_companion(seq)) {
    const std::size_t above = entry_prefix_offset_;
    if (above >= capacity) return 0;
    std::memcpy(out, prefix_, above);
    const std::size_t size = companions_.format(
        seq,
        [this](FrameSeq frame, char* to, std::size_t room) {
          return format_entry(frame, to, room);
        },
        out + above, capacity - above - 1);
    FrameSeq own;
    // Each name has one number, also if several patterns match it.
    if (size == 0 || !match(out, above + size, &own) || own != seq) return 0;
    out[above + size] = '\0';
    return above + size;
  }
  return format_parts(seq, prefix_, prefix_length_, suffix_, suffix_length_, width_, out,
                      capacity);
}

bool FrameName::match_entry_parts(const char* entry, std::size_t length, FrameSeq* seq) const {
  return match_parts(entry, length, prefix_ + entry_prefix_offset_,
                     static_cast<std::size_t>(prefix_length_ - entry_prefix_offset_), suffix_,
                     entry_suffix_length_, width_, seq);
}

bool FrameName::match_entry(const char* entry, std::size_t length, FrameSeq* seq) const {
  return match_entry_parts(entry, length, seq) && !is_companion(*seq);
}

std::size_t FrameName::format_entry(FrameSeq seq, char* out, std::size_t capacity) const {
  return format_parts(seq, prefix_ + entry_prefix_offset_,
                      static_cast<std::size_t>(prefix_length_ - entry_prefix_offset_), suffix_,
                      entry_suffix_length_, width_, out, capacity);
}

bool FrameName::match_last_component(const char* name, std::size_t length) const {
  FrameSeq seq;
  if (match_companion(name, length, &seq)) return true;
  if (!entry_is_directory()) return match_entry(name, length, &seq);
  const char* slash = static_cast<const char*>(::memrchr(suffix_, '/', suffix_length_));
  std::size_t size = static_cast<std::size_t>(suffix_ + suffix_length_ - (slash + 1));
  return length == size && std::memcmp(name, slash + 1, size) == 0;
}

bool FrameName::match_tail(const char* path, std::size_t length, std::size_t* parent_length,
                           FrameSeq* seq) const {
  if (companions_.count() != 0) {
    std::size_t last = length;
    while (last > 0 && path[last - 1] != '/') --last;
    *parent_length = last;
    if (match_companion(path + last, length - last, seq)) return true;
  }
  std::size_t components = 1, at = length;
  for (std::size_t i = 0; i < suffix_length_; ++i) components += suffix_[i] == '/';
  for (; at > 0; --at) {
    if (path[at - 1] == '/' && --components == 0) break;
  }
  if (components > 1) return false;
  *parent_length = at;
  return match_parts(path + at, length - at, prefix_ + entry_prefix_offset_,
                     static_cast<std::size_t>(prefix_length_ - entry_prefix_offset_), suffix_,
                     suffix_length_, width_, seq) &&
         !is_companion(*seq);
}

}  // namespace zazen
