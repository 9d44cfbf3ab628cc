// Shortage: the system refuses memory or a thread (RLIMIT_NPROC, RLIMIT_AS, TasksMax). One unit
// of work fails, never the daemon. The log says so at most once a second.
#pragma once
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

namespace zazen {

inline constexpr std::chrono::milliseconds kShortagePause{100};

void note_shortage(const std::exception& error) noexcept;

// False: the system refused memory or a thread, and `work` has ended early.
template <class Work>
bool despite_shortage(Work&& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc& error) {
    note_shortage(error);
  } catch (const std::system_error& error) {
    note_shortage(error);
  }
  return false;
}

// Returns the result of `work`, 0 or an errno; ENOMEM if the system refused memory or a thread.
template <class Work>
int code_despite_shortage(Work&& work) {
  int code = ENOMEM;
  despite_shortage([&] { code = work(); });
  return code;
}

// Repeats the work until it succeeds: for a loop that must not end, and for a step that must be
// made.
template <class Work>
void until_no_shortage(Work&& work) {
  while (!despite_shortage(work)) std::this_thread::sleep_for(kShortagePause);
}

// The same for a step under a lock, which is released between two attempts.
template <class Lock, class Work>
void until_no_shortage(Lock& lock, Work&& work) {
  while (!despite_shortage(work)) {
    lock.unlock();
    std::this_thread::sleep_for(kShortagePause);
    lock.lock();
  }
}

}  // namespace zazen
