#include "preload/trace/text.h"

#include <stdarg.h>
#include <stdio.h>

#include <initializer_list>

namespace zazen::trace {

void Text::add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = ::vsnprintf(place_ + size_, capacity_ - size_, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  size_ += static_cast<std::size_t>(length);
  if (size_ >= capacity_) size_ = capacity_ - 1;
}

Cell count_cell(std::uint64_t number) {
  char digits[24];
  int length =
      ::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number));
  Cell cell = {};
  char* out = cell.text;
  for (int i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0) *out++ = ',';
    *out++ = digits[i];
  }
  return cell;
}

// Whole numbers only: the program's locale may have another decimal point.
Cell bytes_cell(std::uint64_t bytes) {
  Cell cell = {};
  if (bytes < 1000) {
    ::snprintf(cell.text, sizeof cell.text, "%u B", static_cast<unsigned>(bytes));
    return cell;
  }
  std::uint64_t unit = 1000;
  const char* name = "kB";
  for (const char* larger : {"MB", "GB", "TB", "PB"}) {
    if (bytes / unit < 1000) break;
    unit *= 1000;
    name = larger;
  }
  unsigned hundredths = static_cast<unsigned>(bytes / (unit / 100));
  if (hundredths < 1000) {
    ::snprintf(cell.text, sizeof cell.text, "%u.%02u %s", hundredths / 100, hundredths % 100,
               name);
  } else if (hundredths < 10000) {
    ::snprintf(cell.text, sizeof cell.text, "%u.%u %s", hundredths / 100, hundredths / 10 % 10,
               name);
  } else {
    ::snprintf(cell.text, sizeof cell.text, "%u %s", hundredths / 100, name);
  }
  return cell;
}

Cell time_cell(std::uint64_t nanoseconds) {
  std::uint64_t microseconds = (nanoseconds + 500) / 1000;
  Cell cell = {};
  ::snprintf(cell.text, sizeof cell.text, "%llu.%06u s",
             static_cast<unsigned long long>(microseconds / 1'000'000),
             static_cast<unsigned>(microseconds % 1'000'000));
  return cell;
}

}  // namespace zazen::trace
