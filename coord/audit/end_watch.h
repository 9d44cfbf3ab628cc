// EndWatch: when have other processes ended, on this host and on others?
//
// Each of them holds a TCP connection to the process that watches. Its kernel closes that when
// the process ends, in whatever way, and after everything that the process wrote. Nothing is
// sent but a random token, by which the watching process knows its own from strangers.
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

  // Takes in the connections of `count` processes, or of as many as come within so many
  // seconds, and listens no more. How many came.
  int admit(int count, double seconds);
  // Returns when all of these have ended, or after so many seconds. Makes system calls only.
  void wait_for_ends(double seconds) noexcept;

 private:
  EndWatch() = default;

  UniqueFd listener_;
  std::string token_;
  std::string place_;
  std::vector<pollfd> connections_;
  std::vector<ino_t> inodes_;  // the program may have closed one, and opened something else
};

// Connects this process to the one that watches, until it ends or executes another program;
// processes that it forks do not hold the connection. False if no address answers.
bool hold_connection(const std::string& place);

}  // namespace zazen
