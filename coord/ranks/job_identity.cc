#include "coord/ranks/job_identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/frames/view.h"

namespace zazen {

JobIdentity new_job_identity() {
  JobIdentity identity;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  identity.started_ns = to_ns(now);
  if (::getrandom(&identity.id, sizeof identity.id, GRND_NONBLOCK) != sizeof identity.id)
    identity.id = static_cast<std::uint64_t>(identity.started_ns) << 24 ^
                  static_cast<std::uint64_t>(::getpid());
  return identity;
}

std::string own_command() {
  char words[kMaxCommand];
  UniqueFd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  ssize_t size = file.valid() ? ::read(file.get(), words, sizeof words - 1) : 0;
  std::string command(words, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return command;
}

}  // namespace zazen
