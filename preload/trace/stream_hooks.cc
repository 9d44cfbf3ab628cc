// Streams: opened by fopen and freopen, read by fread, fgets and getline. libc reads a stream
// through internal names, so each of these calls counts as one read here, independently of the
// system calls. getc and scanf are not traced: the cost for each byte or word would slow them
// down too much.
#ifndef __NO_INLINE__
#define __NO_INLINE__  // for clang, the headers' own getline would be a second definition
#endif
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
  return traced_stream_read(stream, caller, call, [&](size_t items) {
    return static_cast<long long>(items) * static_cast<long long>(item);
  });
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

// traced(...) as above; its last argument makes the call.
#define STREAM_HOOK(result, name, parameters, arguments, traced, ...)                     \
  ZAZEN_HOOK result name parameters {                                                     \
    return traced(__VA_ARGS__ __VA_OPT__(, ) ZAZEN_CALLER,                                \
                  [&] { return zazen::trace::late(zazen::trace::next.name) arguments; }); \
  }
#define FOPEN_HOOK(name, parameters, arguments) \
  STREAM_HOOK(FILE*, name, parameters, arguments, traced_fopen)
#define FREAD_HOOK(name, parameters, arguments) \
  STREAM_HOOK(size_t, name, parameters, arguments, traced_fread, item, stream)
#define FGETS_HOOK(name, parameters, arguments) \
  STREAM_HOOK(char*, name, parameters, arguments, traced_fgets, stream)
#define GETLINE_HOOK(name, parameters, arguments) \
  STREAM_HOOK(ssize_t, name, parameters, arguments, traced_getline, stream)

FOPEN_HOOK(fopen, (const char* path, const char* mode), (path, mode))
FOPEN_HOOK(fopen64, (const char* path, const char* mode), (path, mode))
FOPEN_HOOK(freopen, (const char* path, const char* mode, FILE* stream), (path, mode, stream))
FOPEN_HOOK(freopen64, (const char* path, const char* mode, FILE* stream), (path, mode, stream))

FREAD_HOOK(fread, (void* out, size_t item, size_t count, FILE* stream),
           (out, item, count, stream))
FREAD_HOOK(fread_unlocked, (void* out, size_t item, size_t count, FILE* stream),
           (out, item, count, stream))
FREAD_HOOK(__fread_chk, (void* out, size_t room, size_t item, size_t count, FILE* stream),
           (out, room, item, count, stream))
FREAD_HOOK(__fread_unlocked_chk,
           (void* out, size_t room, size_t item, size_t count, FILE* stream),
           (out, room, item, count, stream))

FGETS_HOOK(fgets, (char* out, int size, FILE* stream), (out, size, stream))
FGETS_HOOK(fgets_unlocked, (char* out, int size, FILE* stream), (out, size, stream))
FGETS_HOOK(__fgets_chk, (char* out, size_t room, int size, FILE* stream),
           (out, room, size, stream))
FGETS_HOOK(__fgets_unlocked_chk, (char* out, size_t room, int size, FILE* stream),
           (out, room, size, stream))

// Programs that were compiled with optimisation call __getdelim for getline.
GETLINE_HOOK(getline, (char** line, size_t* room, FILE* stream), (line, room, stream))
GETLINE_HOOK(getdelim, (char** line, size_t* room, int end, FILE* stream),
             (line, room, end, stream))
GETLINE_HOOK(__getdelim, (char** line, size_t* room, int end, FILE* stream),
             (line, room, end, stream))
