// Interruption: ^C, SIGTERM and SIGHUP are noted, not obeyed at once, so that a benchmark
// ends through its destructors and leaves no daemon and no directory behind.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

void note_interruptions();
// The signal that asked this process to end, or 0. Blocking calls return EINTR at once.
int interruption();

// Asks again and again. An error of the condition, EINTR after an interruption, or ETIMEDOUT.
Status wait_until(const std::string& what, const std::function<Result<bool>()>& condition,
                  std::chrono::microseconds pause = std::chrono::milliseconds(5),
                  std::chrono::seconds limit = std::chrono::seconds(120));

}  // namespace zazen
