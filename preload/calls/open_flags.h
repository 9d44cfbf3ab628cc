// The meaning of the flags of an open, and the mode argument, which exists only if the flags
// require it.
#pragma once
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

namespace zazen {

constexpr int kCreatFlags = O_CREAT | O_WRONLY | O_TRUNC;

inline bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// The open may change the file.
inline bool may_write(int flags) {
  return (flags & O_PATH) == 0 &&
         ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT)) != 0);
}

// A copy may take the place of the origin. O_DIRECT is left to the origin, because each file
// system has its own rules for it.
inline bool only_reads(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY &&
         (flags & (O_CREAT | O_TRUNC | O_PATH | O_DIRECTORY | O_DIRECT)) == 0;
}

}  // namespace zazen

#define ZAZEN_MODE_ARGUMENT(mode, flags) \
  mode_t mode = 0;                       \
  if (::zazen::has_mode(flags)) {        \
    va_list arguments;                   \
    va_start(arguments, flags);          \
    mode = va_arg(arguments, mode_t);    \
    va_end(arguments);                   \
  }
