// A sealed file in memory that carries an answer too long for a packet.
#pragma once
#include <cstddef>

#include "bodhi/common/unique_fd.h"

namespace zazen {

// Not valid, with errno, if it fails.
UniqueFd content_file(const void* content, std::size_t size);

}  // namespace zazen
