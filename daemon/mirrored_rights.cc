#include "daemon/mirrored_rights.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "daemon/acting_as.h"
#include "daemon/beneath.h"

namespace zazen {
namespace {

// "/a/b" gives "/a", "/a/b".
std::vector<std::string> prefixes(const std::string& path) {
  std::vector<std::string> all;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    all.push_back(path.substr(0, slash));
  }
  all.push_back(path);
  return all;
}

bool says_no(int code) {
  return code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM || code == ELOOP;
}

// Looks at the directories of one way, from the outermost on.
class Walk {
 public:
  // Nothing: the origin does not answer.
  std::optional<AccessList> rights(const std::string& directory, Right right) {
    struct stat st = {};
    int code = look(directory, &st);
    if (code == 0 && S_ISLNK(st.st_mode)) return rights_behind_link(directory, right);
    if (code == 0 && !S_ISDIR(st.st_mode)) code = ENOTDIR;
    if (code != 0) {
      return says_no(code) ? std::optional(AccessList::nobody()) : std::nullopt;
    }
    return AccessList::of(st, acl_, right);
  }

 private:
  // Where root may not look (a server that squashes root), the owner of the directory above
  // may.
  int look(const std::string& path, struct stat* st) {
    int code = look_once(path, st);
    if (code == EACCES && above_) {
      ActingAs owner(*above_);
      if (owner.ok()) code = look_once(path, st);
    }
    if (code == 0) above_ = PeerIdentity{st->st_uid, st->st_gid, {}};
    return code;
  }

  int look_once(const std::string& path, struct stat* st) {
    if (::lstat(path.c_str(), st) != 0) return errno;
    if (!S_ISLNK(st->st_mode)) acl_ = read_acl(path);
    return 0;
  }

  std::optional<AccessList> rights_behind_link(const std::string& link, Right right) {
    std::error_code error;
    std::string real = std::filesystem::canonical(link, error).string();
    if (error) {
      return says_no(error.value()) ? std::optional(AccessList::nobody()) : std::nullopt;
    }
    AccessList all = AccessList::everybody();
    above_.reset();
    for (const std::string& directory : prefixes(real)) {
      std::optional<AccessList> one =
          rights(directory, directory == real ? right : Right::kSearch);
      if (!one) return std::nullopt;
      all = all.both(*one);
    }
    return all;
  }

  OriginAcl acl_;
  std::optional<PeerIdentity> above_;
};

int grant_below(int cache_root, const std::string& path, const AccessList& list) {
  UniqueFd directory = open_beneath(cache_root, path.c_str(), O_RDONLY | O_DIRECTORY);
  // A directory of frames is made with the first copy in it.
  if (!directory.valid()) return errno == ENOENT ? 0 : errno;
  return list.grant(directory.get(), Right::kSearch);
}

}  // namespace

int mirror_rights(int cache_root, const DatasetConfig& dataset, bool* open_to_all) {
  std::string frames = dataset.path;
  if (dataset.name.directory_length() != 0) {
    frames += "/" + std::string(dataset.name.directory(), dataset.name.directory_length());
  }
  while (frames.ends_with('/')) frames.pop_back();
  int result = 0;
  auto note = [&](int code) {
    if (result == 0) result = code;
  };
  Walk walk;
  *open_to_all = true;
  for (const std::string& directory : prefixes(frames)) {
    std::optional<AccessList> list = walk.rights(directory, Right::kSearch);
    if (!list) {
      *open_to_all = false;
      return result;
    }
    *open_to_all = *open_to_all && list->is_everybody();
    note(grant_below(cache_root, directory.substr(1), *list));
  }
  if (std::optional<AccessList> list = walk.rights(frames, Right::kRead)) {
    note(grant_below(cache_root, dataset.path.substr(1) + "/" + kDatasetStateDirectory, *list));
  }
  return result;
}

std::vector<AccessList> rights_of_directories(const DatasetConfig& dataset,
                                              const std::string& name) {
  std::vector<AccessList> lists;
  Walk walk;
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    std::optional<AccessList> list =
        walk.rights(dataset.path + "/" + name.substr(0, slash), Right::kSearch);
    lists.push_back(list.value_or(AccessList::nobody()));
  }
  return lists;
}

int grant_search(int directory_fd, const std::string& below,
                 const std::vector<AccessList>& lists) {
  std::size_t end = 0;
  for (const AccessList& list : lists) {
    end = std::min(below.find('/', end), below.size());
    UniqueFd directory =
        open_beneath(directory_fd, below.substr(0, end++).c_str(), O_RDONLY | O_DIRECTORY);
    if (!directory.valid()) return errno;
    if (int code = list.grant(directory.get(), Right::kSearch); code != 0) return code;
  }
  return 0;
}

}  // namespace zazen
