// glob: glibc's implementation reads directories by internal names. It also accepts functions
// from the caller for that (GLOB_ALTDIRFUNC). So while listings are watched, it gets the hooked
// functions. Afterwards the hook restores the caller's glob_t: its pointers, and flags without
// our bit. A caller that brings its own functions gets them unchanged; if they call opendir,
// the hooks apply anyway.
#include <glob.h>
#include <sys/stat.h>

#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/listings/directory_stream.h"

using zazen::real::late;
using zazen::real::next;

namespace {

using ErrorFunction = int (*)(const char*, int);

void* open_stream(const char* path) {
  return opendir(path);
}
void close_stream(void* stream) {
  closedir(static_cast<DIR*>(stream));
}
void read_with(struct dirent* (**function)(void*)) {
  *function = [](void* stream) { return readdir(static_cast<DIR*>(stream)); };
}
void read_with(struct dirent64* (**function)(void*)) {
  *function = [](void* stream) { return readdir64(static_cast<DIR*>(stream)); };
}
void stat_with(glob_t* result) {
  result->gl_stat = stat;
  result->gl_lstat = lstat;
}
void stat_with(glob64_t* result) {
  result->gl_stat = stat64;
  result->gl_lstat = lstat64;
}

template <class Glob>
int glob_watched(int (*forward)(const char*, int, ErrorFunction, Glob*), const char* pattern,
                 int flags, ErrorFunction on_error, Glob* result) {
  if (!zazen::listings_are_watched() || (flags & GLOB_ALTDIRFUNC) != 0 || result == nullptr) {
    return forward(pattern, flags, on_error, result);
  }
  const Glob callers = *result;
  result->gl_opendir = open_stream;
  result->gl_closedir = close_stream;
  read_with(&result->gl_readdir);
  stat_with(result);
  int status = forward(pattern, flags | GLOB_ALTDIRFUNC, on_error, result);
  result->gl_opendir = callers.gl_opendir;
  result->gl_closedir = callers.gl_closedir;
  result->gl_readdir = callers.gl_readdir;
  result->gl_stat = callers.gl_stat;
  result->gl_lstat = callers.gl_lstat;
  if (result->gl_flags != callers.gl_flags) result->gl_flags &= ~GLOB_ALTDIRFUNC;
  return status;
}

}  // namespace

ZAZEN_HOOK int glob(const char* pattern, int flags, ErrorFunction on_error,
                    glob_t* result) noexcept {
  return glob_watched(late(next.glob), pattern, flags, on_error, result);
}

ZAZEN_HOOK int glob64(const char* pattern, int flags, ErrorFunction on_error,
                      glob64_t* result) noexcept {
  return glob_watched(late(next.glob64), pattern, flags, on_error, result);
}
