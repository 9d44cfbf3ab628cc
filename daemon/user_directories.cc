#include "daemon/user_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace zazen {

std::set<std::pair<uid_t, gid_t>> owners_of_entries(const std::string& path) {
  std::set<std::pair<uid_t, gid_t>> owners;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return owners;
  while (const dirent* entry = ::readdir(directory)) {
    struct stat st = {};
    if (entry->d_name[0] == '.' ||
        ::fstatat(::dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    owners.emplace(st.st_uid, st.st_gid);
  }
  ::closedir(directory);
  return owners;
}

}  // namespace zazen
