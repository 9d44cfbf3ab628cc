#include "daemon/validation/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

// ---- The worker's half

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

// ---- zazend's half

struct Looked {  // at one copy
  Comparison outcome = Comparison::kUnknown;
  ExactCopy copy = {};
  std::optional<CopyToCompare> ask;  // the origin decides
};

Looked look(const Store& store, std::uint32_t dataset, FrameSeq seq) {
  Looked looked;
  looked.copy.seq = seq;
  if (store.is_suspended(dataset, seq)) {  // compared after the last writer has closed it
    looked.outcome = Comparison::kSame;
    return looked;
  }
  UniqueFd copy = store.open_copy(dataset, seq);
  if (!copy.valid()) {
    bool missing = errno == ENOENT || errno == ELOOP;
    // A copy that was evicted meanwhile says nothing of the others.
    if (missing) {
      looked.outcome = store.has_lost(dataset, seq) ? Comparison::kStale : Comparison::kSame;
    }
    return looked;
  }
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return looked;
  looked.copy = ExactCopy::of(seq, local);
  OriginIdentity identity = {};
  const int code = read_identity(copy.get(), &identity);
  if (code == 0) {
    looked.ask = CopyToCompare{seq, identity, store.is_waiting(dataset, seq)};
  } else if (code == EINVAL || code == ENODATA) {
    looked.outcome = Comparison::kStale;
  }
  return looked;
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

SampleResult compare_sample(const Store& store, std::uint32_t dataset,
                            const CompareAtOrigin& ask) {
  return compare_frames(store, dataset, store.sample(dataset, kSampleAtRandom), ask);
}

SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames, const CompareAtOrigin& ask,
                            std::size_t threads) {
  SampleResult result;
  std::vector<Looked> looked;
  std::vector<CopyToCompare> copies;
  for (FrameSeq seq : frames) {
    looked.push_back(look(store, dataset, seq));
    if (looked.back().ask) copies.push_back(*looked.back().ask);
  }
  std::vector<Comparison> outcomes;
  result.status = ask(dataset, copies, threads, &outcomes);
  auto outcome = outcomes.begin();
  for (Looked& one : looked) {
    if (one.ask) one.outcome = outcome == outcomes.end() ? Comparison::kUnknown : *outcome++;
    switch (one.outcome) {
      case Comparison::kArrived:
        result.arrived.push_back(one.copy.seq);
        break;
      case Comparison::kStale:
      case Comparison::kGone:
        result.stale.push_back(one.copy);
        break;
      case Comparison::kSame:
        break;
      default:  // kUnknown, or a value that no worker of ours sends
        ++result.unknown;
    }
  }
  if (result.status == 0) result.compared = frames.size();
  return result;
}

}  // namespace zazen
