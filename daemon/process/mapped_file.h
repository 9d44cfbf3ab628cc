// A file of fixed size that the daemon maps for writing, and that programs map, too.
#pragma once
#include <cstddef>
#include <string>

#include "bodhi/common/unique_fd.h"

namespace zazen {

// A new file of this size, mapped for writing, private to this user. Null, with errno, if it
// fails.
void* make_mapped_file(const std::string& path, std::size_t size, UniqueFd* file);

// True if a write takes new blocks although the file has some. Then a full disk or a quota
// would become a SIGBUS of the process that writes to a mapping.
bool copies_on_write(int fd);

}  // namespace zazen
