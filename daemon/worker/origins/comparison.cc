#include "daemon/worker/origins/comparison.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "daemon/process/beneath.h"
#include "daemon/threads/work_queue.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAlone = std::chrono::milliseconds(2);

Comparison compare(int directory, const std::string& name, const CopyToCompare& copy) {
  struct stat origin = {};
  const int code =
      ::fstatat(directory, name.c_str(), &origin, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
  if (copy.is_waiting) {
    bool arrived =
        code == 0 && static_cast<std::uint64_t>(origin.st_size) == copy.identity.size;
    return arrived ? Comparison::kArrived : Comparison::kSame;
  }
  if (code == ENOENT || code == ENOTDIR) return Comparison::kGone;
  if (code != 0) return Comparison::kUnknown;
  return same_file(copy.identity, origin) ? Comparison::kSame : Comparison::kStale;
}

// True also if it cannot be read.
bool is_empty(int directory_fd) {
  DIR* directory =
      ::fdopendir(open_beneath(directory_fd, ".", O_RDONLY | O_DIRECTORY).release());
  if (directory == nullptr) return true;
  bool empty = true;
  while (dirent* entry = ::readdir(directory)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    empty = false;
    break;
  }
  ::closedir(directory);
  return empty;
}

}  // namespace

int compare_with_origins(const DatasetConfig& dataset, const std::vector<CopyToCompare>& copies,
                         std::size_t threads, std::vector<Comparison>* outcomes) {
  UniqueFd origin(::open(dataset.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!origin.valid()) return errno;
  outcomes->assign(copies.size(), Comparison::kUnknown);
  std::atomic<std::size_t> next = 0;
  auto work = [&](Clock::time_point until) {
    while (Clock::now() < until) {
      const std::size_t i = next++;
      if (i >= copies.size()) return;
      char name[kMaxTemplate + 32];
      const std::size_t length = dataset.name.format(copies[i].seq, name, sizeof name);
      (*outcomes)[i] = compare(origin.get(), {name, length}, copies[i]);
    }
  };
  // An origin that answers at once needs no threads, which would take CPU time from the job.
  work(Clock::now() + kAlone);
  const std::size_t left = copies.size() - std::min<std::size_t>(next, copies.size());
  auto work_to_the_end = [&work] { work(Clock::time_point::max()); };
  WorkQueue others(WorkQueue::OnDemand{threads});
  for (std::size_t i = 1; i < std::min(threads, left); ++i) others.post(work_to_the_end);
  work_to_the_end();
  others.stop();
  const bool any_gone = std::ranges::find(*outcomes, Comparison::kGone) != outcomes->end();
  if (!any_gone || !is_empty(origin.get())) return 0;
  outcomes->assign(copies.size(), Comparison::kUnknown);
  return ENOENT;
}

}  // namespace zazen
