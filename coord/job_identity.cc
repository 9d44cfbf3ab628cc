#include "coord/job_identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "bodhi/identity.h"
#include "bodhi/unique_fd.h"
#include "bodhi/view.h"
#include "coord/byte_stream.h"

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

std::string encode_job_identity(const JobIdentity& identity) {
  ByteWriter out;
  out.number(identity.id);
  out.number(static_cast<std::uint64_t>(identity.started_ns));
  return out.take();
}

JobIdentity decode_job_identity(const std::string& bytes) {
  ByteReader in(bytes);
  JobIdentity identity;
  std::uint64_t started_ns = 0;
  if (!in.number(&identity.id) || !in.number(&started_ns) || !in.done())
    throw std::runtime_error("the job's identity is malformed");
  identity.started_ns = static_cast<std::int64_t>(started_ns);
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
