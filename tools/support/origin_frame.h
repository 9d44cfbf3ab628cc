// A frame opened at the origin with the rights of the caller, to be handed to a daemon. By raw
// system calls, so that a shim in this process could not give us a copy instead.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

struct OpenOriginFrame {
  UniqueFd fd;
  std::uint64_t bytes;
  struct stat origin;
};

// The error's context is a phrase that says why it cannot be cached.
Result<OpenOriginFrame> open_origin_frame(int directory_fd, const std::string& name);

}  // namespace zazen
