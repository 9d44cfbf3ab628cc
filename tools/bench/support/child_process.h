// ChildProcess: a process that ends with its owner: terminated by the destructor, and by the
// kernel should this process be killed. It has a process group of its own, so that ^C
// reaches this process alone, which then ends the others in order.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

class [[nodiscard]] ChildProcess {
 public:
  struct Streams {  // -1 leaves one as it is here
    int input = -1, output = -1, errors = -1;
  };
  static Result<ChildProcess> start(const std::vector<std::string>& command,
                                    const std::vector<std::string>& environment,
                                    const Streams& streams);
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() { terminate(); }

  // The wait status, once it has ended; reported once.
  std::optional<int> ended();
  // SIGTERM, after a few seconds SIGKILL. The wait status; 0 if it had been reported.
  int terminate(int grace_ms = 5'000);
  void kill();  // SIGKILL, at once
  pid_t pid() const { return pid_; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  int wait();

  pid_t pid_;  // -1: ended and reported
};

// This process's environment without what concerns Zazen and preloading.
std::vector<std::string> plain_environment();

}  // namespace zazen
