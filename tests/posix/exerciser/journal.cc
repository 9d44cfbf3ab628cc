#include "journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

namespace exerciser {

std::uint64_t checksum(const void* bytes, std::size_t count) {
  std::uint64_t sum = 14695981039346656037ULL;
  for (std::size_t i = 0; i < count; ++i) {
    sum = (sum ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211ULL;
  }
  return sum;
}

void Journal::begin(long number, const char* operation) {
  add("%ld %s", number, operation);
}

void Journal::end() {
  text_ += '\n';
  if (text_.size() > (1U << 18)) flush();
}

void Journal::flush() {
  for (std::size_t done = 0; done < text_.size();) {
    long wrote = kernel::write(fd_, text_.data() + done, text_.size() - done);
    if (wrote <= 0) abort();
    done += static_cast<std::size_t>(wrote);
  }
  text_.clear();
}

void Journal::add(const char* format, ...) {
  char line[5000];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length < 0 || length >= static_cast<int>(sizeof line)) abort();
  text_.append(line, static_cast<std::size_t>(length));
}

void Journal::result(long value) {
  int error = errno;
  add(value < 0 ? " = %ld %s" : " = %ld", value, strerrorname_np(error));
}

void Journal::data(const void* bytes, long count) {
  if (count > 0) {
    add(" sum %016llx",
        static_cast<unsigned long long>(checksum(bytes, static_cast<std::size_t>(count))));
  }
}

}  // namespace exerciser
