// Errors of the start, for people. The context is the whole sentence, with the errno's text
// where there is one; nothing is appended when it is printed.
#pragma once
#include <cstring>
#include <string>
#include <utility>

#include "bodhi/common/result.h"

namespace zazen {

// For a system call that has just failed.
inline Error failed_call(const std::string& subject, std::string hint = {}) {
  int code = errno;
  return Error{code, subject + ": " + std::strerror(code), std::move(hint)};
}

// Turns an error of the usual kind into a whole sentence.
inline Error whole(const Error& error) {
  return Error{error.code, error.message(), error.hint};
}

}  // namespace zazen
