#include "daemon/origin/user_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bodhi/common/open_beneath.h"

namespace zazen {

std::set<std::pair<uid_t, gid_t>> owners_of_entries(const std::string& path) {
  std::set<std::pair<uid_t, gid_t>> owners;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return owners;
  for (std::size_t i = 0; i < kMostEntries; ++i) {
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr) break;
    if (entry->d_name[0] == '.' || entry->d_type == DT_LNK) continue;
    struct stat st = {};
    const UniqueFd file = open_entry(::dirfd(directory), entry->d_name, O_PATH);
    if (file.valid() && ::fstat(file.get(), &st) == 0) owners.emplace(st.st_uid, st.st_gid);
  }
  ::closedir(directory);
  return owners;
}

}  // namespace zazen
