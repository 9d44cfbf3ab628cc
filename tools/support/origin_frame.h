// Opens a frame at the origin with the rights of the caller, to pass it to a daemon. It uses
// raw system calls, because a shim in this process could return a copy instead.
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

// The error's context is a phrase: the reason why the frame cannot be cached.
Result<OpenOriginFrame> open_origin_frame(int directory_fd, const std::string& name);

}  // namespace zazen
