// JobIdentity: the same values on all ranks of one job, by which their files are matched later.
#pragma once
#include <cstdint>
#include <string>

namespace zazen {

struct JobIdentity {
  std::uint64_t id = 0;         // random
  std::int64_t started_ns = 0;  // since 1970
  bool operator==(const JobIdentity&) const = default;
};

JobIdentity new_job_identity();

// The arguments of this process, separated by blanks; "" if they cannot be read.
std::string own_command();

}  // namespace zazen
