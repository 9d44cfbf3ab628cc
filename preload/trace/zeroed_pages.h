// Memory of the plug-in's own: pages that read as zero and take no memory until they are
// touched.
#pragma once
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace zazen::trace {

// Null if there is none. By system call: mmap itself is hooked.
template <class T>
T* zeroed_pages(std::size_t count) {
  long place = ::syscall(SYS_mmap, nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return place == -1 ? nullptr : reinterpret_cast<T*>(place);
}

}  // namespace zazen::trace
