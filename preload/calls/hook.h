// What every hook needs. All hooks have one shape: decide, forward, or answer and fall back.
//
// Code in this folder runs inside other people's programs. It may call libc, never libstdc++;
// it never allocates, locks, or keeps a file descriptor, and prints unasked or exits only where a
// result would be wrong in silence (division.h). Every hook leaves errno as the plain call would
// have.
#pragma once
#include <cerrno>
#include <cstdint>

// Memory that few processes need, apart from what every start writes: a page less to fault in.
// The linker sorts by these names: what only begins with something needed comes in between.
#define ZAZEN_SELDOM_USED __attribute__((section(".data.y_seldom_used")))
#define ZAZEN_BEGINNING_USED __attribute__((section(".data.x_beginning_used")))

#define ZAZEN_HOOK extern "C" __attribute__((visibility("default")))

namespace zazen {

// libc's headers promise that certain arguments are not null, and the compiler drops our
// checks of them. Programs pass null all the same and want the kernel's EFAULT.
template <class T>
T* unpromised(T* pointer) {
  __asm__("" : "+r"(pointer));
  return pointer;
}

// A pointer that is no string is the kernel's to refuse; looking at it would end the program. Only
// what no program can have is known without asking the kernel, which takes 130 ns: the first
// page, and all above the half of the address space that is the programs'.
inline bool may_be_string(const char* pointer) {
  constexpr std::uintptr_t kBegin = 4096, kEnd = std::uintptr_t{1} << 47;
  return reinterpret_cast<std::uintptr_t>(unpromised(pointer)) - kBegin < kEnd - kBegin;
}
inline bool is_empty_string(const char* pointer) {
  return may_be_string(pointer) && *pointer == '\0';
}

class ErrnoKeeper {  // gives errno back as it was
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

}  // namespace zazen
