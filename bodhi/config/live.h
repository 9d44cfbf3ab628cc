// Live: a value of the configuration that a reload (SIGHUP) may change while other threads of
// the daemon read it. Copies and converts like the plain value.
#pragma once
#include <atomic>

namespace zazen {

template <class T>
class Live {
 public:
  Live(T value = {}) : value_(value) {}  // NOLINT(google-explicit-constructor)
  Live(const Live& other) : value_(other.get()) {}
  Live& operator=(const Live& other) {
    value_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }

  T get() const { return value_.load(std::memory_order_relaxed); }
  operator T() const { return get(); }  // NOLINT(google-explicit-constructor)

 private:
  std::atomic<T> value_;
};

}  // namespace zazen
