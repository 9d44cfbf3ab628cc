// The C API's border: errors become -1, errno and a text for bodhi_error(). No exception
// crosses it. A child after fork gets an error: the handle belongs to its parent.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/library/bodhi_handle.h"

#define BODHI_API extern "C" __attribute__((visibility("default")))

namespace zazen {

std::string& api_error_text();  // of this thread

inline int refuse(int code, const std::string& text) {
  api_error_text() = text;
  errno = code;
  return -1;
}

// error.context is the whole message here.
inline int refuse(const Error& error) {
  return refuse(error.code, error.context);
}

// Calls the function if the handle belongs to this process; its result or -1.
template <class Call>
auto within_border(const bodhi* handle, const char* simdir, Call call) noexcept
    -> decltype(call()) {
  try {
    if (handle == nullptr || simdir == nullptr) {
      return refuse(EINVAL, handle == nullptr ? "no handle" : "no dataset is named");
    }
    if (handle->owner != ::getpid()) {
      return refuse(EPERM, "the handle was opened by process " + std::to_string(handle->owner) +
                               ": after fork, a child opens one of its own");
    }
    return call();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  } catch (const std::exception& error) {
    api_error_text() = error.what();
    errno = EIO;
  }
  return -1;
}

}  // namespace zazen
