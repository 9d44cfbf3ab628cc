#include "daemon/worker/job_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "bodhi/common/open_beneath.h"
#include "bodhi/common/process_life.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/run/run_record.h"

namespace zazen {
namespace {

// Reads the beginning of a file; false if it is shorter.
bool read_front(int job_fd, const char* name, void* out, std::size_t size) {
  UniqueFd file(::openat(job_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file.valid() && ::pread(file.get(), out, size, 0) == static_cast<ssize_t>(size);
}

// The process whose end ends the job, or 0 if the directory names none.
pid_t owner_of(int job_fd) {
  View view = {};
  if (read_front(job_fd, kViewFile, &view, sizeof view) && view.magic == kViewMagic &&
      view.version == kViewVersion) {
    return view.owner_pid;
  }
  struct {
    std::uint64_t magic;
    std::uint32_t version;
    std::int32_t owner_pid;
  } run = {};
  static_assert(offsetof(RunRecord, owner_pid) == offsetof(decltype(run), owner_pid));
  if (read_front(job_fd, kRunFile, &run, sizeof run) && run.magic == kRunMagic &&
      run.version == kRunVersion) {
    return run.owner_pid;
  }
  return 0;
}

// True if the job is over. *has_owner: its directory still has the data for a report.
bool is_over(int job_fd, bool* has_owner) {
  const pid_t owner = owner_of(job_fd);
  *has_owner = owner > 0;
  if (*has_owner) return process_is_over(owner);
  struct stat st = {};
  if (::fstat(job_fd, &st) != 0) return false;
  return std::time(nullptr) - st.st_mtime > kOrphanAgeSeconds;
}

// Another sweep, or the rank itself, may have moved the directory to the reports.
bool is_still_there(int parent_fd, const char* name, const struct stat& job) {
  struct stat now = {};
  return ::fstatat(parent_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         now.st_dev == job.st_dev && now.st_ino == job.st_ino;
}

void remove_job(int jobs_fd, const char* name, int job_fd) {
  struct stat st = {};
  if (::fstat(job_fd, &st) != 0 || !is_still_there(jobs_fd, name, st)) return;
  DIR* directory = ::fdopendir(::openat(job_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) return;
  while (dirent* entry = ::readdir(directory)) ::unlinkat(job_fd, entry->d_name, 0);
  ::closedir(directory);
  ::unlinkat(jobs_fd, name, AT_REMOVEDIR);
}

bool keep_job(int jobs_fd, const char* name, int job_fd, int reports_fd) {
  struct stat st = {};
  if (reports_fd < 0 || ::fstat(job_fd, &st) != 0) return false;
  return ::renameat(jobs_fd, name, reports_fd, name) == 0;
}

void remove_if_no_directory(int parent_fd, const char* name) {
  struct stat st = {};
  if (::fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode)) return;
  if (st.st_uid == ::geteuid()) ::unlinkat(parent_fd, name, 0);
}

// Not valid if it is another user's, or no directory.
UniqueFd open_job(int parent_fd, const char* name) {
  UniqueFd job = open_entry(parent_fd, name, O_RDONLY | O_DIRECTORY);
  struct stat st = {};
  const bool is_own = job.valid() && ::fstat(job.get(), &st) == 0 && st.st_uid == ::geteuid();
  return is_own ? std::move(job) : UniqueFd();
}

struct KeptReport {
  std::string name;
  std::time_t since;
  std::uint64_t bytes;
};

std::uint64_t bytes_in(int job_fd) {
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kBlock = 512;
  for (const char* name : {kViewFile, kTallyFile, kRunFile}) {
    struct stat st = {};
    if (::fstatat(job_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const auto held = static_cast<std::uint64_t>(st.st_blocks) * kBlock;  // it may be sparse
    bytes += std::min(static_cast<std::uint64_t>(st.st_size), held);
  }
  return bytes;
}

}  // namespace

int sweep_jobs(const std::string& jobs_directory, const std::string& reports_directory) {
  DIR* jobs = ::opendir(jobs_directory.c_str());
  if (jobs == nullptr) return 0;
  UniqueFd reports(::open(reports_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int gone = 0;
  while (dirent* entry = ::readdir(jobs)) {
    if (entry->d_name[0] == '.') continue;
    UniqueFd job = open_job(::dirfd(jobs), entry->d_name);
    bool has_owner = false;
    if (!job.valid() || !is_over(job.get(), &has_owner)) continue;
    if (!has_owner || !keep_job(::dirfd(jobs), entry->d_name, job.get(), reports.get())) {
      remove_job(::dirfd(jobs), entry->d_name, job.get());
    }
    struct stat st = {};
    if (::fstatat(::dirfd(jobs), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) ++gone;
  }
  ::closedir(jobs);
  return gone;
}

int prune_reports(const std::string& reports_directory, const ReportLimits& limits) {
  DIR* reports = ::opendir(reports_directory.c_str());
  if (reports == nullptr) return 0;
  std::set<uid_t> users;
  std::vector<KeptReport> all;
  while (dirent* entry = ::readdir(reports)) {
    struct stat st = {};
    if (entry->d_name[0] == '.' ||
        ::fstatat(::dirfd(reports), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    users.insert(st.st_uid);
    UniqueFd job = open_job(::dirfd(reports), entry->d_name);
    if (!job.valid()) remove_if_no_directory(::dirfd(reports), entry->d_name);
    if (job.valid()) all.push_back({entry->d_name, st.st_ctime, bytes_in(job.get())});
  }
  std::ranges::sort(all, std::ranges::greater(), &KeptReport::since);
  const std::uint64_t most_bytes = limits.bytes / std::max<std::size_t>(users.size(), 1);
  const std::uint64_t most_ranks = limits.ranks / std::max<std::size_t>(users.size(), 1);
  std::uint64_t bytes = 0, ranks = 0;
  int removed = 0;
  for (const KeptReport& report : all) {
    const bool is_newest = &report == &all.front();
    const bool is_young = std::time(nullptr) - report.since <= limits.age_seconds;
    const bool fits = report.bytes <= most_bytes - bytes && ranks < most_ranks;
    if (is_young && (fits || is_newest)) {
      if (fits) bytes += report.bytes;  // a report that is too large must not cost all others
      ++ranks;
      continue;
    }
    UniqueFd job = open_job(::dirfd(reports), report.name.c_str());
    if (job.valid()) remove_job(::dirfd(reports), report.name.c_str(), job.get());
    ++removed;
  }
  ::closedir(reports);
  return removed;
}

}  // namespace zazen
