#include "bodhi/config/cache_place.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace zazen {
namespace {

struct FileSystemName {
  std::uint32_t magic;
  const char* name;
};
// linux/magic.h does not define all of them.
constexpr FileSystemName kRemote[] = {
    {0x6969, "nfs"},          {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},
    {0x65735546, "fuse"},     {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},
    {0x517b, "smb"},          {0x00c36400, "ceph"},   {0x19830326, "beegfs"},
    {0x5346414f, "afs"},      {0x6b414653, "afs"},    {0x01021997, "9p"},
    {0x20030528, "orangefs"}, {0xaad7aaea, "panfs"},  {0x73757245, "coda"},
    {0x01161970, "gfs2"},     {0x7461636f, "ocfs2"},
};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_below_home(std::string directory) {
  if (directory.starts_with("/home/")) return true;
  const char* home = ::secure_getenv("HOME");
  struct stat wanted = {}, st = {};
  if (home == nullptr || std::string_view(home) == "/" || ::stat(home, &wanted) != 0)
    return false;
  for (;; directory = parent_of(directory)) {
    const bool is_there = ::stat(directory.c_str(), &st) == 0;
    if (is_there && st.st_dev == wanted.st_dev && st.st_ino == wanted.st_ino) return true;
    if (directory == "/") return false;
  }
}

}  // namespace

std::string remote_filesystem(const std::string& directory) {
  struct statfs found = {};
  for (std::string path = directory; ::statfs(path.c_str(), &found) != 0;
       path = parent_of(path)) {
    if (errno != ENOENT || path == "/") return {};
  }
  for (const FileSystemName& one : kRemote) {
    if (static_cast<std::uint32_t>(found.f_type) == one.magic) return one.name;
  }
  return {};
}

std::string describe_poor_place(const std::string& directory) {
  const std::string remote = remote_filesystem(directory);
  const bool is_home = is_below_home(directory);
  if (remote == "fuse") return "it is on FUSE: each read passes through another process";
  if (!remote.empty()) {
    return "it is on " + remote + (is_home ? ", in a home directory" : "") +
           ": copies there are no nearer than the frames";
  }
  if (is_home) return "it is in a home directory: backups and quotas count the copies";
  return {};
}

}  // namespace zazen
