#include "daemon/job_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "bodhi/unique_fd.h"
#include "bodhi/view.h"
#include "daemon/acting_as.h"

namespace zazen {
namespace {

// Gone, or a zombie that its parent has not collected: it will open nothing any more.
bool is_dead(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t name_end = text.rfind(')');  // the state follows the name in parentheses
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
}

bool owner_is_dead(int job_fd, bool* has_view) {
  View view = {};
  UniqueFd file(::openat(job_fd, kViewFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  *has_view = file.valid() && ::pread(file.get(), &view, sizeof view, 0) == sizeof view &&
              view.magic == kViewMagic && view.version == kViewVersion && view.owner_pid > 0;
  return *has_view && is_dead(view.owner_pid);
}

bool is_over(int job_fd) {
  bool has_view = false;
  if (owner_is_dead(job_fd, &has_view)) return true;
  struct stat st = {};
  if (has_view || ::fstat(job_fd, &st) != 0) return false;
  return std::time(nullptr) - st.st_mtime > kOrphanAgeSeconds;
}

// With the rights of the directory's owner: in a directory that all users share nothing can be
// planted that only root could remove.
void remove_job(int jobs_fd, const char* name, int job_fd) {
  struct stat st = {};
  if (::fstat(job_fd, &st) != 0) return;
  ActingAs owner(PeerIdentity{st.st_uid, st.st_gid, {}});
  if (!owner.ok()) return;
  DIR* directory = ::fdopendir(::openat(job_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory == nullptr) return;
  while (dirent* entry = ::readdir(directory)) ::unlinkat(job_fd, entry->d_name, 0);
  ::closedir(directory);
  ::unlinkat(jobs_fd, name, AT_REMOVEDIR);
}

}  // namespace

int sweep_jobs(const std::string& jobs_directory) {
  DIR* jobs = ::opendir(jobs_directory.c_str());
  if (jobs == nullptr) return 0;
  int removed = 0;
  while (dirent* entry = ::readdir(jobs)) {
    if (entry->d_name[0] == '.') continue;
    UniqueFd job(::openat(::dirfd(jobs), entry->d_name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!job.valid() || !is_over(job.get())) continue;
    remove_job(::dirfd(jobs), entry->d_name, job.get());
    struct stat st = {};
    if (::fstat(job.get(), &st) == 0 && st.st_nlink == 0) ++removed;
  }
  ::closedir(jobs);
  return removed;
}

}  // namespace zazen
