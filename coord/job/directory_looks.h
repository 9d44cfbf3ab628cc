// How this process finds the directories of datasets at the origin.
//
// A job asks for all that it might use, and a file server may take milliseconds for each. So
// where it does not answer at once, threads ask for several at a time. They take no signal,
// make raw system calls only, and are gone when the call returns.
#pragma once
#include <span>
#include <vector>

#include "coord/ranks/job_messages.h"

namespace zazen {

// A template. Throws std::runtime_error if it makes no sense.
FrameName compiled(const std::string& text);

// EACCES also for a directory that this process may not search.
std::vector<DirectoryState> look_at_directories(std::span<const NamedDataset> datasets);

}  // namespace zazen
