// What a configuration must fulfil so that zazend starts with it, beyond what the file itself
// says: users, directories, the disk, the key. check_start() changes nothing and may run beside
// a daemon: zazend --check-config.
#pragma once
#include "bodhi/config/config.h"

namespace zazen {

// users = "all" is for root.
Status check_users(const Config& config);
// The rights of many users are kept in ACLs: `fd` is a file of the cache.
Status check_access_lists(int fd, const std::string& cache);
// Mode of the cache and of the runtime directory.
mode_t directory_mode(const Config& config);
// Everything. Locks and ports are not looked at, because a daemon that runs has them.
Status check_start(const Config& config);

}  // namespace zazen
