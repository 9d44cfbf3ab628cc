#include "daemon/process/serving_priority.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace zazen {
namespace {

constexpr int kRaisedNice = -10;
constexpr std::uint64_t kSliceNs = 100'000;  // the least that is allowed; old kernels ignore it

}  // namespace

void raise_serving_priority() {
  sched_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.sched_policy = SCHED_NORMAL;
  wanted.sched_flags = SCHED_FLAG_RESET_ON_FORK;
  wanted.sched_runtime = kSliceNs;
  wanted.sched_nice = ::getpriority(PRIO_PROCESS, 0);
  if (wanted.sched_nice == 0) {
    wanted.sched_nice = kRaisedNice;
    if (::syscall(SYS_sched_setattr, 0, &wanted, 0) == 0) return;
    wanted.sched_nice = 0;
  }
  (void)::syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace zazen
