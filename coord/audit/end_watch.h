// EndWatch: detects that other processes have ended, on this host and on others.
//
// Each of them holds a TCP connection to the watching process. Its kernel closes the connection
// when the process ends, in any way, and after everything that the process wrote. The only data
// is a random token, by which the watching process recognises the processes of its job.
#pragma once
#include <poll.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "bodhi/common/unique_fd.h"

namespace zazen {

class EndWatch {
 public:
  // Listens for connections. Null if there is no network at all.
  static std::unique_ptr<EndWatch> open();

  // For hold_connection() in another process.
  const std::string& place() const { return place_; }

  // Accepts the connections of `count` processes, or of as many as come within this time, and
  // stops listening. Returns how many came.
  int admit(int count, double seconds);
  // Returns when all of these have ended, or after this time. Makes system calls only.
  void wait_for_ends(double seconds) noexcept;

 private:
  EndWatch() = default;

  UniqueFd listener_;
  std::string token_;
  std::string place_;
  std::vector<pollfd> connections_;
  std::vector<ino_t> inodes_;  // detects that the program closed one and reused the number
};

// Connects this process to the watching process, until it ends or executes another program.
// Processes that it forks do not hold the connection. False if no address answers.
bool hold_connection(const std::string& place);

}  // namespace zazen
