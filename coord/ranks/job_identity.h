// JobIdentity: what the ranks of one job have in common when what they left is put together.
#pragma once
#include <cstdint>
#include <string>

namespace zazen {

struct JobIdentity {
  std::uint64_t id = 0;         // at random
  std::int64_t started_ns = 0;  // since 1970
  bool operator==(const JobIdentity&) const = default;
};

JobIdentity new_job_identity();

// The words of this process, separated by blanks; "" if they cannot be read.
std::string own_command();

}  // namespace zazen
