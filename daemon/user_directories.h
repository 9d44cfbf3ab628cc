// The owners of the entries of a directory that all users share.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <utility>

namespace zazen {

// User and group of each entry; nothing in them is opened, and no link is followed.
std::set<std::pair<uid_t, gid_t>> owners_of_entries(const std::string& directory);

}  // namespace zazen
