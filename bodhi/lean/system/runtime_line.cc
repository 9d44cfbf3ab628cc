// Scans lines, deliberately simpler than TOML: the daemon refuses a file that this cannot read.
#include "bodhi/lean/system/runtime_line.h"

#include <sys/mman.h>

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr char kKey[] = "runtime";
constexpr std::size_t kKeyLength = sizeof kKey - 1;

const char* skip_blanks(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\t')) ++at;
  return at;
}

enum class Line { kOther, kTable, kValue, kMalformed };

// The kind of one line; for kValue its value is between *begin and *end.
Line read_line(const char* at, const char* line_end, const char** begin, const char** end) {
  at = skip_blanks(at, line_end);
  if (at < line_end && *at == '[') return Line::kTable;
  if (static_cast<std::size_t>(line_end - at) < kKeyLength ||
      std::memcmp(at, kKey, kKeyLength) != 0) {
    return Line::kOther;
  }
  at = skip_blanks(at + kKeyLength, line_end);
  if (at == line_end || *at != '=') return Line::kOther;
  at = skip_blanks(at + 1, line_end);
  if (at == line_end || *at != '"') return Line::kMalformed;
  *begin = ++at;
  while (at < line_end && *at != '"') {
    unsigned char c = static_cast<unsigned char>(*at);
    if (c == '\\' || c < 0x20 || c == 0x7f) return Line::kMalformed;
    ++at;
  }
  if (at == line_end) return Line::kMalformed;
  *end = at;
  at = skip_blanks(at + 1, line_end);
  if (at < line_end && *at == '\r') ++at;
  bool ends_here = at == line_end || *at == '#';
  return ends_here ? Line::kValue : Line::kMalformed;
}

}  // namespace

std::size_t scan_runtime_line(const char* text, std::size_t length, char* out,
                              std::size_t capacity) {
  const char* at = text;
  const char* end = text + length;
  if (length >= 3 && std::memcmp(text, "\xef\xbb\xbf", 3) == 0) at += 3;  // byte order mark
  while (at < end) {
    const char* newline =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const char* line_end = newline ? newline : end;
    const char* value_begin = nullptr;
    const char* value_end = nullptr;
    switch (read_line(at, line_end, &value_begin, &value_end)) {
      case Line::kOther:
        break;
      case Line::kTable:
      case Line::kMalformed:
        return 0;
      case Line::kValue: {
        std::size_t size = static_cast<std::size_t>(value_end - value_begin);
        if (size + 1 > capacity) return 0;
        std::memcpy(out, value_begin, size);
        out[size] = '\0';
        return size;
      }
    }
    at = newline ? newline + 1 : end;
  }
  return 0;
}

std::size_t scan_runtime_file(const char* path, char* out, std::size_t capacity) {
  RawFd file(raw_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return 0;
  // The line is nearly always near the beginning of a short file.
  char start[1024];
  long read = raw_call(SYS_pread64, file.get(), start, sizeof start, 0);
  if (read >= 0 && read < static_cast<long>(sizeof start)) {
    return scan_runtime_line(start, static_cast<std::size_t>(read), out, capacity);
  }
  // Not on the stack: the host's threads may have small ones.
  int saved = errno;
  void* memory = ::mmap(nullptr, kRuntimeScanBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  if (memory == MAP_FAILED) return 0;
  char* text = static_cast<char*>(memory);
  long size = raw_read_at(file.get(), text, kRuntimeScanBytes, 0);
  std::size_t found =
      size > 0 ? scan_runtime_line(text, static_cast<std::size_t>(size), out, capacity) : 0;
  ::munmap(memory, kRuntimeScanBytes);
  return found;
}

}  // namespace zazen
