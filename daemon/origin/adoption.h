// Adoption: a native that was pushed before the origin had the frame gets its identity (D9).
//
// The pushed content and the origin are compared by size and by some pages, which is cheap. The
// pages differ if a simulation was run again. A frame that has a writer counts as not there
// yet. zazend has the copy and a worker sees the origin. The link carries the pages, or a
// digest of them where zazend asks the worker.
#pragma once
#include <string>

#include "daemon/origin/origin_facts.h"

namespace zazen {

// Pages from the first to the last; all of a small file. "" if they cannot be read.
std::string sample_pages(int fd, std::uint64_t size);
// XXH3 of these pages in 16 bytes, the same on every machine; "" if they cannot be read.
std::string sample_digest(int fd, std::uint64_t size);

// For a process that has the content: if the origin has another frame, the status of the look
// becomes ESTALE.
void compare_digest(int content_fd, std::uint64_t bytes, OriginLook& look);

}  // namespace zazen
