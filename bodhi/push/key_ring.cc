#include "bodhi/push/key_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

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

Result<bool> KeyRing::read(const std::string& key_file, std::chrono::milliseconds grace) {
  Result<Credentials> found = load_credentials(key_file);
  std::lock_guard lock(mutex_);
  if (!found) {
    if (!current_) current_ = found.error();
    return found.error();
  }
  constexpr std::chrono::milliseconds kLongest = std::chrono::years(10);
  const Clock::time_point until = Clock::now() + std::min(grace, kLongest);
  for (OldKey& old : old_) old.until = std::min(old.until, until);
  const std::string before = current_ ? current_->key : "";
  const bool is_other = !current_ || before != found->key;
  if (is_other && !before.empty()) old_.push_back({before, until});
  std::erase_if(old_, [&](const OldKey& old) { return old.key == found->key; });
  current_ = std::move(*found);
  return is_other;
}

void KeyRing::renew(Result<Credentials> credentials) {
  std::lock_guard lock(mutex_);
  current_ = std::move(credentials);
}

Result<Credentials> KeyRing::credentials() const {
  std::lock_guard lock(mutex_);
  Result<Credentials> credentials = current_;
  if (!credentials) return credentials;
  for (const OldKey& old : old_) {
    if (Clock::now() < old.until) credentials->old_keys.push_back(old.key);
  }
  return credentials;
}

std::vector<std::string> KeyRing::accepted() const {
  const Result<Credentials> now = credentials();
  if (!now) return {};
  std::vector<std::string> keys = now->old_keys;
  if (!now->key.empty()) keys.push_back(now->key);
  return keys;
}

bool KeyRing::accepts(const std::string& key) const {
  const std::vector<std::string> keys = accepted();
  return key.empty() || std::ranges::find(keys, key) != keys.end();
}

bool KeyRing::drop_ended() {
  std::lock_guard lock(mutex_);
  return std::erase_if(old_, [](const OldKey& old) { return old.until <= Clock::now(); }) > 0;
}

std::optional<std::time_t> KeyRing::old_key_until() const {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  Clock::time_point last = now;
  for (const OldKey& old : old_) last = std::max(last, old.until);
  if (last == now) return std::nullopt;
  using std::chrono::system_clock;
  const auto left = std::chrono::ceil<system_clock::duration>(last - now);
  return system_clock::to_time_t(system_clock::now() + left);
}

}  // namespace zazen
