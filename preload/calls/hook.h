// The definitions that every hook needs. All hooks have one form: decide, forward, or answer
// and fall back.
//
// Code below preload/ runs inside other people's programs. It may call libc, never libstdc++.
// Hooks never allocate, take a lock of libc's, or keep a file descriptor; the few exceptions
// say so in their file. They print unasked or exit only where a result would otherwise be wrong
// in silence (division.h). Every hook leaves errno as the plain call would.
#pragma once
#include <atomic>
#include <cerrno>
#include <cstdint>

// Data that few processes need is separated from the data that every start writes: this saves a
// page fault. The linker sorts sections by these names. Data that a start needs only in part
// comes between the two.
#define ZAZEN_SELDOM_USED __attribute__((section(".data.y_seldom_used")))
#define ZAZEN_BEGINNING_USED __attribute__((section(".data.x_beginning_used")))

#define ZAZEN_HOOK extern "C" __attribute__((visibility("default")))

namespace zazen {

// libc's headers promise that certain arguments are not null, so the compiler drops our checks
// of them. Some programs pass null all the same and expect EFAULT from the kernel.
template <class T>
T* unpromised(T* pointer) {
  __asm__("" : "+r"(pointer));
  return pointer;
}

// An invalid pointer must reach the kernel, which refuses it; a read by us would end the
// program. A system call to test a pointer would take 130 ns. So this tests only addresses that
// no program can have: the first page, and everything above the user half of the address space.
inline bool may_be_string(const char* pointer) {
  constexpr std::uintptr_t kBegin = 4096, kEnd = std::uintptr_t{1} << 47;
  return reinterpret_cast<std::uintptr_t>(unpromised(pointer)) - kBegin < kEnd - kBegin;
}
inline bool is_empty_string(const char* pointer) {
  return may_be_string(pointer) && *pointer == '\0';
}

class ErrnoKeeper {  // restores errno
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

// Points to the function that a hook forwards to: the next definition of the hook's own name.
// real.h has those of the shim, trace/next.h those of the tracer.
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
