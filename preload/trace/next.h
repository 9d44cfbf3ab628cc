// The functions behind the hooks: those of libzazen.so where it has them, else libc's. As in
// preload/calls/real.h they are looked up in the constructor. A raw system call replaces a
// function that is not known yet. Streams, which allocate anyway, are looked up later.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"

// Exported by libc and not declared in its headers.
extern "C" {
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off_t, size_t);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
char* __fgets_chk(char*, size_t, int, FILE*);
char* __fgets_unlocked_chk(char*, size_t, int, FILE*);
}

// clang-format off
#define ZAZEN_TRACED_FUNCTIONS(X) \
  X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64) \
  X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) \
  X(fopen) X(fopen64) X(freopen) X(freopen64) \
  X(read) X(pread) X(pread64) X(readv) X(preadv) X(preadv64) X(preadv2) X(preadv64v2) \
  X(__read_chk) X(__pread_chk) X(__pread64_chk) \
  X(fread) X(fread_unlocked) X(__fread_chk) X(__fread_unlocked_chk) \
  X(fgets) X(fgets_unlocked) X(__fgets_chk) X(__fgets_unlocked_chk) \
  X(getline) X(getdelim) X(__getdelim) \
  X(mmap) X(mmap64) X(pipe2) X(close) X(fclose) X(_exit) X(_Exit)
// clang-format on

namespace zazen::trace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
struct NextFunctions {
#define X(name) Pointer<decltype(::name)> name;
  ZAZEN_TRACED_FUNCTIONS(X)
#undef X
};
#pragma GCC diagnostic pop
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
