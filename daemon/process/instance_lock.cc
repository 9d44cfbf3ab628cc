#include "daemon/process/instance_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "daemon/process/start_error.h"

namespace zazen {

Result<InstanceLock> InstanceLock::take(const std::string& file, const std::string& subject) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return failed_call(subject + ": cannot open " + file);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed_call(subject + ": cannot lock " + file);
    char pid[32] = {};
    [[maybe_unused]] ssize_t size = ::pread(fd.get(), pid, sizeof pid - 1, 0);
    return Error{EBUSY, fmt::format("{}: another zazend (pid {}) uses it", subject, pid),
                 "one daemon for each cache and runtime directory; stop the other one first"};
  }
  std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return failed_call(subject + ": cannot write " + file);
  }
  return InstanceLock(std::move(fd));
}

}  // namespace zazen
