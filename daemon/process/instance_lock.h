// InstanceLock: one daemon for each cache and for each runtime directory. The lock ends with
// the process in every case, which a pid file would not. The pid in the file is for the message
// only.
#pragma once
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

class InstanceLock {
 public:
  // `subject` begins the message: "cache directory /scratch/zazen".
  static Result<InstanceLock> take(const std::string& file, const std::string& subject);

 private:
  explicit InstanceLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace zazen
