// Result: a value, or an error made of a number for the machine and a phrase for the
// person. (g++ 12 in C++20 has no std::expected.) Not for the shim, which is errno only.
#pragma once
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace zazen {

struct Error {
  int code = EIO;       // an errno value
  std::string context;  // "subject: what was tried", without the errno's own text
  std::string hint;     // what to do now; may be empty

  std::string message() const { return context + ": " + std::strerror(code); }
};

// The errno of a call that has just failed, with its context.
inline Error last_error(std::string context) {
  return Error{errno, std::move(context), {}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace zazen
