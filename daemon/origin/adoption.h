// Adoption: a native that was pushed before the origin had the frame gets its identity (D9).
//
// The writer's word and the origin are compared as far as that costs nothing: by size, and by
// some pages, which differ if a simulation was run again. A frame that somebody is writing has
// not come yet. zazend has the copy and a worker sees the origin: the pages travel between
// them, or a digest of them where zazend asks the worker.
#pragma once
#include <string>

#include "daemon/origin/origin_facts.h"

namespace zazen {

// Pages from the first to the last; all of a small file. "" if they cannot be read.
std::string sample_pages(int fd, std::uint64_t size);
// XXH3 of these pages in 16 bytes, whatever the machine; "" if they cannot be read.
std::string sample_digest(int fd, std::uint64_t size);

// In a process that has the content: the status of a look at another frame becomes ESTALE.
void compare_digest(int content_fd, std::uint64_t bytes, OriginLook& look);

}  // namespace zazen
