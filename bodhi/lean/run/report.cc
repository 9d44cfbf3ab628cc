// Writes JSON into a fixed buffer: integers only, because a host program's locale may have a
// decimal comma. Text is converted to valid UTF-8.
#include "bodhi/lean/run/report.h"

#include <time.h>

#include <cstring>

#include "bodhi/lean/system/quiet_signals.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

class JsonFile {
 public:
  explicit JsonFile(int fd) : fd_(fd) {}

  void text(const char* bytes) { put(bytes, std::strlen(bytes)); }

  void number(std::uint64_t value) {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[sizeof digits - ++count] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    put(digits + sizeof digits - count, count);
  }

  // A member of an object, after `before`.
  template <class Value>
  void field(const char* before, const char* name, Value of_field) {
    key(before, name);
    value(of_field);
  }
  void key(const char* before, const char* name) {
    for (const char* part : {before, "\"", name, "\": "}) text(part);
  }

  void value(std::uint64_t number_of) { number(number_of); }
  void value(std::int64_t signed_number) {
    if (signed_number < 0) text("-");
    number(signed_number < 0 ? 0 - static_cast<std::uint64_t>(signed_number)
                             : static_cast<std::uint64_t>(signed_number));
  }
  void value(std::int32_t signed_number) { value(std::int64_t{signed_number}); }
  void value(double seconds) {
    bool sane = seconds >= 0 && seconds < 1e12;
    std::uint64_t us = sane ? static_cast<std::uint64_t>(seconds * 1e6 + 0.5) : 0;
    number(us / 1'000'000);
    text(".");
    for (std::uint64_t unit = 100'000; unit > 0; unit /= 10) number(us / unit % 10);
  }
  void value(bool is_true) { text(is_true ? "true" : "false"); }
  void value(const char* string_or_null) {
    if (string_or_null == nullptr) return text("null");
    string(string_or_null, std::strlen(string_or_null));
  }
  void string(const char* characters, std::size_t length);
  int finish() {
    flush();
    return error_;
  }

 private:
  void put(const char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (used_ == sizeof buffer_) flush();
      buffer_[used_++] = bytes[i];
    }
  }
  void flush() {
    if (error_ == 0) error_ = -raw_write_all(fd_, buffer_, used_);
    used_ = 0;
  }

  int fd_;
  int error_ = 0;
  std::size_t used_ = 0;
  char buffer_[2048];
};

// Length of the UTF-8 character at text, or 0 if it is not one.
std::size_t character_length(const unsigned char* text, std::size_t left) {
  unsigned char first = text[0];
  if (first < 0x80) return 1;
  std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > left) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
  bool surrogate = first == 0xed && text[1] >= 0xa0;
  bool too_large = first == 0xf4 && text[1] >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

void JsonFile::string(const char* characters, std::size_t length) {
  constexpr char kHex[] = "0123456789abcdef";
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(characters);
  text("\"");
  for (std::size_t at = 0; at < length;) {
    unsigned char c = bytes[at];
    std::size_t size = character_length(bytes + at, length - at);
    if (size == 0) {
      text("\xef\xbf\xbd");  // U+FFFD: replacement character
      size = 1;
    } else if (c == '"' || c == '\\') {
      char escape[] = {'\\', static_cast<char>(c)};
      put(escape, sizeof escape);
    } else if (c < 0x20 || c == 0x7f) {
      char escape[] = {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
      put(escape, sizeof escape);
    } else {
      put(characters + at, size);
    }
    at += size;
  }
  text("\"");
}

void write_rank(JsonFile& json, const RankReport& rank) {
  json.field("    {", "rank", rank.rank);
  json.key(", ", "node");
  json.string(rank.node, ::strnlen(rank.node, sizeof rank.node));
  json.field(", ", "assigned", rank.assigned);
  json.field(", ", "read", rank.read);
  json.field(", ", "hits", rank.hits);
  json.field(", ", "misses", rank.misses);
  json.field(", ", "reported", rank.reported);
  json.text("}");
}

void write_other(JsonFile& json, const OtherReport& other) {
  json.field("    {", "dataset", other.dataset);
  json.field(", ", "pattern", other.pattern);
  json.field(", ", "reads", other.reads);
  json.field(", ", "writes", other.writes);
  json.field(", ", "stats", other.stats);
  json.field(", ", "open_seconds", other.open_seconds);
  json.field(", ", "stat_seconds", other.stat_seconds);
  json.text("}");
}

// write(json, element) for each, one a line.
template <class Element, class Write>
void write_array(JsonFile& json, const char* name, const Element* elements, std::size_t count,
                 Write write) {
  json.key(",\n  ", name);
  for (std::size_t i = 0; i < count; ++i) {
    json.text(i == 0 ? "[\n" : ",\n");
    write(json, elements[i]);
  }
  json.text(count == 0 ? "[]" : "\n  ]");
}

void write_json(JsonFile& json, const JobReport& report) {
  constexpr char kNext[] = ",\n  ";
  constexpr const char* kUnknown = nullptr;
  json.field("{\n  ", "schema_version", kSchemaVersion);
  json.field(kNext, "filtered", report.filtered);
  json.field(kNext, "complete", report.complete);
  json.field(kNext, "reason", report.reason);
  json.field(kNext, "frames_listed", report.frames_listed);
  json.field(kNext, "frames_read", report.frames_read);
  json.field(kNext, "frames_read_twice", report.frames_read_twice);
  json.field(kNext, "frames_never_read", report.frames_never_read);
  json.field(kNext, "hits", report.hits);
  json.field(kNext, "misses", report.misses);
  json.field(kNext, "bytes_local", report.bytes_local);
  json.field(kNext, "bytes_origin", report.bytes_origin);
  if (report.frames_arrived_later < 0) {
    json.field(kNext, "frames_arrived_later", kUnknown);
  } else {
    json.field(kNext, "frames_arrived_later", report.frames_arrived_later);
  }
  json.field(kNext, "exactly_once", report.exactly_once);
  if (report.duration_seconds < 0) {
    json.field(kNext, "duration_seconds", kUnknown);
  } else {
    json.field(kNext, "duration_seconds", report.duration_seconds);
  }
  json.field(kNext, "protocol_seconds", report.protocol_seconds);
  json.field(kNext, "listing_seconds", report.listing_seconds);
  json.text(",\n  \"phases\": {");
  for (std::size_t i = 0; i < report.phase_count; ++i) {
    json.field(i == 0 ? "" : ", ", report.phases[i].name, report.phases[i].seconds);
  }
  json.text("}");
  json.field(kNext, "nodes", report.nodes);
  json.field(kNext, "ranks", report.ranks);
  if (report.others != nullptr) {
    write_array(json, "other_files", report.others, report.other_count, write_other);
  }
  write_array(json, "per_rank", report.rank_reports, report.rank_count, write_rank);
  json.text("\n}\n");
}

// "<path>.<16 hexadecimal digits>"; false if it does not fit.
bool temporary_name(const char* path, char* out, std::size_t capacity) {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::uint64_t tag = static_cast<std::uint64_t>(::getpid()) << 40 ^
                      static_cast<std::uint64_t>(now.tv_sec) << 30 ^
                      static_cast<std::uint64_t>(now.tv_nsec);
  std::size_t length = std::strlen(path);
  if (length + 18 > capacity) return false;
  std::memcpy(out, path, length);
  out[length++] = '.';
  for (int shift = 60; shift >= 0; shift -= 4)
    out[length++] = "0123456789abcdef"[tag >> shift & 15];
  out[length] = '\0';
  return true;
}

// write(fd) returns 0 or an errno.
template <class Write>
int replace_file(const char* path, Write write) {
  QuietSignals quiet;
  // A terminal, a pipe or a link (/dev/stdout) is written to, never replaced by a rename.
  struct stat st;
  if (raw_call(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(st.st_mode)) {
    RawFd file(raw_open(path, O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK));
    return file.valid() ? write(file.get()) : -file.get();
  }

  char temporary[4096];
  int fd;
  do {
    if (!temporary_name(path, temporary, sizeof temporary)) return ENAMETOOLONG;
    fd = raw_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0644);
  } while (fd == -EEXIST);
  RawFd file(fd);
  if (!file.valid()) return -file.get();
  int error = write(file.get());
  if (error == 0) {
    error = static_cast<int>(-raw_call(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, 0));
  }
  if (error != 0) raw_call(SYS_unlinkat, AT_FDCWD, temporary, 0);
  return error;
}

}  // namespace

int write_report_to(int fd, const JobReport& report) {
  JsonFile json(fd);
  write_json(json, report);
  return json.finish();
}

int write_report(const char* path, const JobReport& report) {
  return replace_file(path, [&](int fd) { return write_report_to(fd, report); });
}

int write_text(const char* path, const char* text, std::size_t size) {
  return replace_file(path, [&](int fd) { return -raw_write_all(fd, text, size); });
}

}  // namespace zazen
