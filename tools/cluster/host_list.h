// Host lists as Slurm and people write them: "n[0-39]", "n[08-11],login:7117", "r[1-2]n[0-3]".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

inline constexpr std::size_t kMostNodes = 4'096;

// The hosts in the order of the list, ranges expanded, each once. "unix:DIR" and "[::1]:7117"
// stay as they are. The error's context is the whole message.
Result<std::vector<std::string>> expand_host_list(std::string_view list);

}  // namespace zazen
