// The mode argument of open and its variants, which exists only if the flags require it.
#pragma once
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

namespace zazen {

constexpr int kCreatFlags = O_CREAT | O_WRONLY | O_TRUNC;

inline bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
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
