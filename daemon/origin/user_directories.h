// The owners of the entries of a directory that all users share.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <utility>

namespace zazen {

// User and group of each of the first kMostEntries entries. It follows no link, and asks no
// server of a file system that a user has mounted there.
inline constexpr std::size_t kMostEntries = 65'536;
std::set<std::pair<uid_t, gid_t>> owners_of_entries(const std::string& directory);

}  // namespace zazen
