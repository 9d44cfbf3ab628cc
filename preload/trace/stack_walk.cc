// Walks the calling thread's stack with libunwind.
//
// libunwind checks doubtful addresses through a pipe, which the hook of pipe2 (life.cc) denies
// it. Instead it reads memory through a function here. This asks the kernel whether an address
// is readable, by a call that has no other effect.
#define UNW_LOCAL_ONLY
#include "preload/trace/stack_walk.h"

#include <libunwind.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace zazen::trace {
namespace {

constexpr int kMaxDepth = 512;
constexpr std::uintptr_t kPage = 4096;

// The last page that was found readable during this walk. Not thread-local: the first use of
// such a variable in a loaded library may allocate.
std::atomic<std::uintptr_t> readable_page{0};

bool kernel_can_read(std::uintptr_t address) {
  constexpr int kNoSuchOperation = -1;  // refused, after the set was read
  return ::syscall(SYS_rt_sigprocmask, kNoSuchOperation, address, nullptr, 8) == 0 ||
         errno != EFAULT;
}

bool is_readable(std::uintptr_t address) {
  std::uintptr_t first = address & ~(kPage - 1), last = (address + 7) & ~(kPage - 1);
  if (first == last && first == readable_page) return true;
  if (!kernel_can_read(address)) return false;
  readable_page = last;
  return true;
}

int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void*) {
  void* place = reinterpret_cast<void*>(address);
  if (write != 0) {
    std::memcpy(place, value, sizeof *value);
    return 0;
  }
  if (!is_readable(address)) return -UNW_EINVAL;
  std::memcpy(value, place, sizeof *value);
  return 0;
}

}  // namespace

void walk_stack(Visitor visit, void* context) {
  readable_page = 0;
  unw_context_t registers;
  unw_cursor_t cursor;
  if (unw_getcontext(&registers) != 0 || unw_init_local(&cursor, &registers) != 0) return;
  for (int depth = 0; depth < kMaxDepth && unw_step(&cursor) > 0; ++depth) {
    unw_word_t address = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) return;
    if (!visit(address, unw_is_signal_frame(&cursor) > 0, context)) return;
  }
}

}  // namespace zazen::trace

extern "C" __attribute__((visibility("default"))) const zazen::trace::CallSites*
zazen_callsites() {
  using namespace zazen::trace;
  unw_get_accessors(unw_local_addr_space)->access_mem = access_memory;
  static const CallSites offered{kCallSitesVersion, walk_stack, describe_calls};
  return &offered;
}
