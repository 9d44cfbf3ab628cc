// Finds poor places for a cache. A file system of other machines is no nearer than the origin.
// A home directory is often on such a file system, is backed up and has a quota.
#pragma once
#include <string>

namespace zazen {

// "nfs", "lustre" and so on if the directory is on such a file system, or on FUSE; else "". For
// a directory that does not exist, its nearest existing parent is checked.
std::string remote_filesystem(const std::string& directory);

// The reason against a cache there, as a phrase; "" if there is none.
std::string describe_poor_place(const std::string& directory);

inline constexpr char kPoorPlaceHint[] =
    "put it on a local disk, such as /scratch/USER or /var/tmp: cache = \"DIR\"";

}  // namespace zazen
