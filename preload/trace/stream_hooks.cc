// Streams: opened by fopen and freopen, read by fread, fgets and getline. libc reads a stream
// through internal names, so each of these calls counts as one read here, independently of the
// system calls. getc and scanf are not traced: the cost for each byte or word would slow them
// down too much.
#include <cstring>

#include "preload/trace/next.h"
#include "preload/trace/record.h"

namespace {

template <class Call>
FILE* traced_fopen(const void* caller, Call call) {
  return zazen::trace::measured(
      [&] {
        zazen::trace::forget_last_open();
        return call();
      },
      [&](FILE* stream, std::uint64_t nanoseconds) {
        if (stream == nullptr) return;
        zazen::trace::record_open(::fileno(stream), nanoseconds, caller);
      });
}

// bytes_of(result) is the number of bytes read, or -1 if nothing was read.
template <class Call, class BytesOf>
auto traced_stream_read(FILE* stream, const void* caller, Call call, BytesOf bytes_of) {
  return zazen::trace::measured(call, [&](auto result, std::uint64_t nanoseconds) {
    long long bytes = bytes_of(result);
    if (bytes < 0) return;
    zazen::trace::record_read(::fileno(stream), static_cast<std::uint64_t>(bytes), nanoseconds,
                              caller);
  });
}

template <class Call>
size_t traced_fread(size_t item, FILE* stream, const void* caller, Call call) {
  return traced_stream_read(stream, caller, call,
                            [&](size_t items) { return static_cast<long long>(items * item); });
}

template <class Call>
char* traced_fgets(FILE* stream, const void* caller, Call call) {
  return traced_stream_read(stream, caller, call, [](const char* line) {
    return line == nullptr ? -1LL : static_cast<long long>(std::strlen(line));
  });
}

template <class Call>
ssize_t traced_getline(FILE* stream, const void* caller, Call call) {
  return traced_stream_read(stream, caller, call,
                            [](ssize_t length) { return static_cast<long long>(length); });
}

}  // namespace

using zazen::trace::late;
using zazen::trace::next;

ZAZEN_HOOK FILE* fopen(const char* path, const char* mode) {
  return traced_fopen(ZAZEN_CALLER, [&] { return late(next.fopen)(path, mode); });
}

ZAZEN_HOOK FILE* fopen64(const char* path, const char* mode) {
  return traced_fopen(ZAZEN_CALLER, [&] { return late(next.fopen64)(path, mode); });
}

ZAZEN_HOOK FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return traced_fopen(ZAZEN_CALLER, [&] { return late(next.freopen)(path, mode, stream); });
}

ZAZEN_HOOK FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return traced_fopen(ZAZEN_CALLER, [&] { return late(next.freopen64)(path, mode, stream); });
}

ZAZEN_HOOK size_t fread(void* out, size_t item, size_t count, FILE* stream) {
  return traced_fread(item, stream, ZAZEN_CALLER,
                      [&] { return late(next.fread)(out, item, count, stream); });
}

ZAZEN_HOOK size_t fread_unlocked(void* out, size_t item, size_t count, FILE* stream) {
  return traced_fread(item, stream, ZAZEN_CALLER,
                      [&] { return late(next.fread_unlocked)(out, item, count, stream); });
}

ZAZEN_HOOK size_t __fread_chk(void* out, size_t capacity, size_t item, size_t count,
                              FILE* stream) {
  return traced_fread(item, stream, ZAZEN_CALLER, [&] {
    return late(next.__fread_chk)(out, capacity, item, count, stream);
  });
}

ZAZEN_HOOK size_t __fread_unlocked_chk(void* out, size_t capacity, size_t item, size_t count,
                                       FILE* stream) {
  return traced_fread(item, stream, ZAZEN_CALLER, [&] {
    return late(next.__fread_unlocked_chk)(out, capacity, item, count, stream);
  });
}

ZAZEN_HOOK char* fgets(char* out, int size, FILE* stream) {
  return traced_fgets(stream, ZAZEN_CALLER,
                      [&] { return late(next.fgets)(out, size, stream); });
}

ZAZEN_HOOK char* fgets_unlocked(char* out, int size, FILE* stream) {
  return traced_fgets(stream, ZAZEN_CALLER,
                      [&] { return late(next.fgets_unlocked)(out, size, stream); });
}

ZAZEN_HOOK char* __fgets_chk(char* out, size_t capacity, int size, FILE* stream) {
  return traced_fgets(stream, ZAZEN_CALLER,
                      [&] { return late(next.__fgets_chk)(out, capacity, size, stream); });
}

ZAZEN_HOOK char* __fgets_unlocked_chk(char* out, size_t capacity, int size, FILE* stream) {
  return traced_fgets(stream, ZAZEN_CALLER, [&] {
    return late(next.__fgets_unlocked_chk)(out, capacity, size, stream);
  });
}

ZAZEN_HOOK ssize_t getline(char** line, size_t* capacity, FILE* stream) {
  return traced_getline(stream, ZAZEN_CALLER,
                        [&] { return late(next.getline)(line, capacity, stream); });
}

ZAZEN_HOOK ssize_t getdelim(char** line, size_t* capacity, int end, FILE* stream) {
  return traced_getline(stream, ZAZEN_CALLER,
                        [&] { return late(next.getdelim)(line, capacity, end, stream); });
}

// Programs that were compiled with optimisation call this for getline.
ZAZEN_HOOK ssize_t __getdelim(char** line, size_t* capacity, int end, FILE* stream) {
  return traced_getline(stream, ZAZEN_CALLER,
                        [&] { return late(next.__getdelim)(line, capacity, end, stream); });
}
