// The functions behind the hooks: those of libzazen.so where it has them, else libc's. As in
// preload/calls/real.h they are looked up in the constructor. A raw system call replaces a
// function that is not known yet. Streams, which allocate anyway, are looked up later.
#pragma once
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "preload/calls/forward.h"
#include "preload/calls/raw.h"

#define ZAZEN_TRACED_FUNCTIONS(X)                                       \
  X(open, int(const char*, int, ...))                                   \
  X(open64, int(const char*, int, ...))                                 \
  X(openat, int(int, const char*, int, ...))                            \
  X(openat64, int(int, const char*, int, ...))                          \
  X(creat, int(const char*, mode_t))                                    \
  X(creat64, int(const char*, mode_t))                                  \
  X(__open_2, int(const char*, int))                                    \
  X(__open64_2, int(const char*, int))                                  \
  X(__openat_2, int(int, const char*, int))                             \
  X(__openat64_2, int(int, const char*, int))                           \
  X(fopen, FILE*(const char*, const char*))                             \
  X(fopen64, FILE*(const char*, const char*))                           \
  X(freopen, FILE*(const char*, const char*, FILE*))                    \
  X(freopen64, FILE*(const char*, const char*, FILE*))                  \
  X(read, ssize_t(int, void*, size_t))                                  \
  X(pread, ssize_t(int, void*, size_t, off_t))                          \
  X(pread64, ssize_t(int, void*, size_t, off_t))                        \
  X(readv, ssize_t(int, const struct ::iovec*, int))                    \
  X(preadv, ssize_t(int, const struct ::iovec*, int, off_t))            \
  X(preadv64, ssize_t(int, const struct ::iovec*, int, off_t))          \
  X(preadv2, ssize_t(int, const struct ::iovec*, int, off_t, int))      \
  X(preadv64v2, ssize_t(int, const struct ::iovec*, int, off_t, int))   \
  X(__read_chk, ssize_t(int, void*, size_t, size_t))                    \
  X(__pread_chk, ssize_t(int, void*, size_t, off_t, size_t))            \
  X(__pread64_chk, ssize_t(int, void*, size_t, off_t, size_t))          \
  X(fread, size_t(void*, size_t, size_t, FILE*))                        \
  X(fread_unlocked, size_t(void*, size_t, size_t, FILE*))               \
  X(__fread_chk, size_t(void*, size_t, size_t, size_t, FILE*))          \
  X(__fread_unlocked_chk, size_t(void*, size_t, size_t, size_t, FILE*)) \
  X(fgets, char*(char*, int, FILE*))                                    \
  X(fgets_unlocked, char*(char*, int, FILE*))                           \
  X(__fgets_chk, char*(char*, size_t, int, FILE*))                      \
  X(__fgets_unlocked_chk, char*(char*, size_t, int, FILE*))             \
  X(getline, ssize_t(char**, size_t*, FILE*))                           \
  X(getdelim, ssize_t(char**, size_t*, int, FILE*))                     \
  X(__getdelim, ssize_t(char**, size_t*, int, FILE*))                   \
  X(mmap, void*(void*, size_t, int, int, int, off_t))                   \
  X(mmap64, void*(void*, size_t, int, int, int, off_t))                 \
  X(pipe2, int(int*, int))                                              \
  X(close, int(int))                                                    \
  X(fclose, int(FILE*))                                                 \
  X(_exit, void(int))                                                   \
  X(_Exit, void(int))

namespace zazen::trace {

struct NextFunctions {
#define X(name, ...) Pointer<__VA_ARGS__> name;
  ZAZEN_TRACED_FUNCTIONS(X)
#undef X
};
extern NextFunctions next;

void resolve_next();

template <class Type>
Type* late(Pointer<Type>& pointer) {
  if (pointer.get() == nullptr) [[unlikely]]
    resolve_next();
  return pointer.get();
}

}  // namespace zazen::trace

// The next function, or the system call that replaces it.
#define ZAZEN_NEXT(name, arguments, instead) \
  ZAZEN_CALL_OR(::zazen::trace::next.name.get(), arguments, instead)
