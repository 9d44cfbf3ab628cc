// Forwards to the real function: the next definition of the hook's own name. real.h defines the
// shim's functions, trace/next.h those of the tracer.
#pragma once
#include <atomic>

namespace zazen {

template <class Type>
struct Pointer {
  std::atomic<Type*> call{nullptr};

  Type* get() const { return call.load(std::memory_order_relaxed); }
  void set(void* function) {
    call.store(reinterpret_cast<Type*>(function), std::memory_order_relaxed);
  }
};

}  // namespace zazen

// The function if it is known, or else its replacement.
#define ZAZEN_CALL_OR(function, arguments, instead)                   \
  ({                                                                  \
    auto* known_function = (function);                                \
    known_function != nullptr ? known_function arguments : (instead); \
  })
