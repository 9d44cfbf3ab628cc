#include "bodhi/push/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bodhi/common/unique_fd.h"
#include "bodhi/push/munge_credential.h"

namespace zazen {
namespace {

constexpr std::size_t kShortestKey = 16, kLongestKey = 4096;

Error unfit(const std::string& file, const std::string& why, std::string hint) {
  return Error{EINVAL, "key file " + file + ": " + why, std::move(hint)};
}

Result<std::string> read_key(const std::string& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat st = {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) {
    int code = errno;
    return Error{code, "key file " + file + ": " + std::strerror(code),
                 "make one: head -c 32 /dev/urandom > " + file + "; chmod 600 " + file};
  }
  if (!S_ISREG(st.st_mode)) return unfit(file, "is no regular file", {});
  if (st.st_uid != ::geteuid()) return unfit(file, "belongs to another user", {});
  if ((st.st_mode & 077) != 0) {
    return unfit(file, "others can reach it", "chmod 600 " + file);
  }
  std::string key(kLongestKey + 1, '\0');
  ssize_t size = ::read(fd.get(), key.data(), key.size());
  if (size < 0) return Error{errno, "key file " + file + ": cannot be read", {}};
  key.resize(static_cast<std::size_t>(size));
  if (key.size() < kShortestKey || key.size() > kLongestKey) {
    return unfit(file, "a key has 16 to 4096 bytes",
                 "make one: head -c 32 /dev/urandom > " + file);
  }
  return key;
}

}  // namespace

Result<Credentials> load_credentials(const std::string& key_file) {
  Credentials credentials;
  credentials.munge = munge_answers();
  if (key_file.empty()) return credentials;
  Result<std::string> key = read_key(key_file);
  if (!key) return key.error();
  credentials.key = std::move(*key);
  return credentials;
}

}  // namespace zazen
