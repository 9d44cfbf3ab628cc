// A file in memory whose content never changes, to be passed to another process.
#pragma once
#include <string_view>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

Result<UniqueFd> sealed_memory(std::string_view bytes);

}  // namespace zazen
