#include "daemon/service/start_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/identity.h"
#include "daemon/origin/access_list.h"
#include "daemon/process/secure_directory.h"
#include "daemon/process/start_error.h"
#include "daemon/service/push_sockets.h"

namespace zazen {
namespace {

// A file without a name shows what the file system keeps. Where there are none, or no cache
// yet, the start finds out.
Status check_disk(const Config& config) {
  const UniqueFd file(::open(config.cache.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const std::string subject = "cache directory " + config.cache;
  if (!file.valid()) {
    const bool is_unknown = errno == ENOENT || errno == EOPNOTSUPP || errno == EISDIR ||
                            errno == EINVAL || errno == ENOSPC || errno == EDQUOT;
    return is_unknown ? Status(Done{}) : failed_call(subject + ": cannot make a file in it");
  }
  OriginIdentity identity = {};
  identity.version = kIdentityVersion;
  if (const int code = write_identity(file.get(), identity); code != 0) {
    errno = code;
    return failed_call(subject + ": its file system does not keep user extended attributes",
                       "put the cache on a local ext4, xfs or btrfs file system");
  }
  return config.all_users ? check_access_lists(file.get(), config.cache) : Status(Done{});
}

}  // namespace

Status check_users(const Config& config) {
  if (!config.all_users || ::geteuid() == 0) return Done{};
  return Error{EPERM, config.file + ": users = \"all\": only root can serve all users",
               "run zazend as root, or leave users out: then it serves you alone"};
}

Status check_access_lists(int fd, const std::string& cache) {
  if (int code = AccessList::nobody().grant(fd, Right::kRead); code != 0) {
    return Error{code,
                 fmt::format("cache directory {}: its file system does not keep POSIX ACLs: {}",
                             cache, std::strerror(code)),
                 "put the cache on a local ext4, xfs or btrfs file system"};
  }
  return Done{};
}

mode_t directory_mode(const Config& config) {
  return config.all_users ? 0711 : 0700;
}

Status check_start(const Config& config) {
  const mode_t mode = directory_mode(config);
  if (Status users = check_users(config); !users) return users;
  if (Status runtime = check_secure_directory(config.runtime, "runtime directory", mode);
      !runtime) {
    return runtime;
  }
  if (Status cache = check_secure_directory(config.cache, "cache directory", mode); !cache) {
    return cache;
  }
  if (Status disk = check_disk(config); !disk) return disk;
  return config.listen.empty() ? Status(Done{}) : check_listen(config);
}

}  // namespace zazen
