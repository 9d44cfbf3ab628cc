// Where a cache should not be: on a file system of other machines, which is no nearer than the
// origin, or in a home directory, which is often one, and is backed up and has a quota.
#pragma once
#include <string>

namespace zazen {

// "nfs", "lustre" and so on if the directory is on such a file system, or on FUSE; else "". Of a
// directory that does not exist yet, the one above it counts.
std::string remote_filesystem(const std::string& directory);

// What speaks against a cache there, as a phrase; "" if nothing does.
std::string describe_poor_place(const std::string& directory);

inline constexpr char kPoorPlaceHint[] =
    "put it on a local disk, such as /scratch/USER or /var/tmp: cache = \"DIR\"";

}  // namespace zazen
