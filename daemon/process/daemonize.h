// Starts the daemon in the background. The parent stays until the child serves, and its exit
// status says whether the child does. Called before there is any thread, lock or mapping.
#pragma once
#include <string>

#include "bodhi/common/unique_fd.h"

namespace zazen {

// Opens the file to append to it; made if it is not there.
UniqueFd open_log(const std::string& log_file);
// Standard error is appended to the file; standard input and output are /dev/null.
void write_to_log(const std::string& log_file);

class Background {
 public:
  // Forks. The parent does not return: it ends with 0 once the child has called ready(). If the
  // child ends first, the parent ends with its exit status (its message is on the same stderr).
  static Background enter();

  // Releases the parent. After that stderr is appended to log_file, and stdin and stdout are
  // /dev/null.
  void ready(const std::string& log_file);

 private:
  explicit Background(UniqueFd to_parent) : to_parent_(std::move(to_parent)) {}
  UniqueFd to_parent_;
};

}  // namespace zazen
