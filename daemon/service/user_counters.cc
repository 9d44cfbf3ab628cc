#include "daemon/service/user_counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "daemon/process/log.h"
#include "daemon/process/secure_directory.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

void remove_files(int directory_fd) {
  DIR* directory = ::fdopendir(::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) return;
  while (dirent* entry = ::readdir(directory)) ::unlinkat(directory_fd, entry->d_name, 0);
  ::closedir(directory);
}

// Allocated, so that counting needs no room later; the user's when it is complete.
UniqueFd make_file(int directory_fd, const char* name, uid_t uid) {
  UniqueFd fd(
      ::openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  bool made = fd.valid() && ::posix_fallocate(fd.get(), 0, sizeof(Counters)) == 0 &&
              ::pwrite(fd.get(), &kTableMagic, sizeof kTableMagic, 0) == sizeof kTableMagic &&
              ::fchown(fd.get(), uid, static_cast<gid_t>(-1)) == 0;
  if (!made) {
    ::unlinkat(directory_fd, name, 0);
    fd.reset();
  }
  return fd;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace

void CountedSince::add(const CounterValues& before, const CounterValues& now, uid_t uid) {
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
    const auto moved = [](std::uint64_t from, std::uint64_t to) {
      return to > from ? to - from : 0;
    };
    const Opens more{i, moved(before.datasets[i].hits, now.datasets[i].hits),
                     moved(before.datasets[i].misses, now.datasets[i].misses)};
    if (more.hits + more.misses > 0) {
      opened.emplace_back(i, uid);
      opens.push_back(more);
    }
    if (now.untold_changes[i] != before.untold_changes[i]) untold_changes.emplace_back(i, uid);
  }
}

Result<std::unique_ptr<UserCounters>> UserCounters::make(const std::string& runtime) {
  std::string path = runtime + "/" + kUserCountersDirectory;
  Status made = require_secure_directory(path, "directory of the users' counters", 0755);
  if (!made.ok()) return made.error();
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return failed_call(path);
  remove_files(directory.get());
  return std::unique_ptr<UserCounters>(new UserCounters(std::move(directory), path));
}

UserCounters::~UserCounters() {
  remove_files(directory_.get());
  ::rmdir(path_.c_str());
}

void UserCounters::add_user(uid_t uid, std::size_t most_users) {
  std::lock_guard lock(mutex_);
  if (users_.contains(uid) || users_.size() >= most_users) return;
  UniqueFd file = make_file(directory_.get(), std::to_string(uid).c_str(), uid);
  if (!file.valid()) {
    log_line(LogLevel::kWarn, "no_counters",
             {{"uid", std::to_string(uid)}, {"error", std::strerror(errno)}});
  }
  users_[uid].file = std::move(file);
}

void UserCounters::note_unread(uid_t uid) {
  constexpr std::uint64_t kNobody = 0;
  std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return;
  (void)!::pwrite(user->second.file.get(), &kNobody, sizeof kNobody,
                  offsetof(Counters, news) + offsetof(ProgramNews, reader));
}

void UserCounters::count(CountedSince* out) {
  std::lock_guard lock(mutex_);
  for (auto& [uid, user] : users_) {
    CounterValues now;
    if (::pread(user.file.get(), &now, sizeof now, 0) != sizeof now) continue;
    out->add(*user.seen, now, uid);
    *user.seen = now;
  }
}

UserCounters::Sum UserCounters::sum(std::uint32_t dataset) const {
  Sum sum;
  std::lock_guard lock(mutex_);
  for (const auto& [uid, user] : users_) {
    std::uint64_t counted[2];  // as in DatasetCounters
    static_assert(sizeof counted == sizeof(DatasetCounters));
    off_t offset =
        static_cast<off_t>(offsetof(Counters, datasets) + dataset * sizeof(DatasetCounters));
    if (::pread(user.file.get(), counted, sizeof counted, offset) != sizeof counted) continue;
    sum.hits = saturating_sum(sum.hits, counted[0]);
    sum.misses = saturating_sum(sum.misses, counted[1]);
  }
  return sum;
}

}  // namespace zazen
