#include "daemon/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "daemon/beneath.h"
#include "daemon/origin.h"
#include "daemon/work_queue.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAlone = std::chrono::milliseconds(2);

enum class Comparison : char { kSame, kStale, kGone, kArrived, kUnknown };

struct Compared {
  Comparison outcome = Comparison::kUnknown;
  ExactCopy copy = {};
};

Compared compare(const Store& store, std::uint32_t dataset, FrameSeq seq,
                 int origin_directory) {
  Compared compared;
  compared.copy.seq = seq;
  if (store.is_suspended(dataset, seq)) {  // compared when its last writer has gone
    compared.outcome = Comparison::kSame;
    return compared;
  }
  std::string name = store.name_of(dataset, seq);
  UniqueFd copy = store.open_copy(dataset, seq);
  if (!copy.valid()) {
    bool missing = errno == ENOENT || errno == ELOOP;
    // One that was evicted meanwhile says nothing of the others.
    if (missing) {
      compared.outcome = store.has_lost(dataset, seq) ? Comparison::kStale : Comparison::kSame;
    }
    return compared;
  }
  struct stat local = {}, origin = {};
  if (::fstat(copy.get(), &local) != 0) return compared;
  compared.copy = ExactCopy::of(seq, local);
  OriginIdentity identity = {};
  int code = read_identity(copy.get(), &identity);
  if (code != 0) {
    if (code == EINVAL || code == ENODATA) compared.outcome = Comparison::kStale;
    return compared;
  }
  code = stat_origin(origin_directory, store.dataset(dataset).path, name, identity, &origin);
  if (store.is_waiting(dataset, seq)) {
    bool arrived = code == 0 && static_cast<std::uint64_t>(origin.st_size) == identity.size;
    compared.outcome = arrived ? Comparison::kArrived : Comparison::kSame;
    return compared;
  }
  if (code != 0) {
    if (code == ENOENT || code == ENOTDIR) compared.outcome = Comparison::kGone;
    return compared;
  }
  compared.outcome = same_file(identity, origin) ? Comparison::kSame : Comparison::kStale;
  return compared;
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

SampleResult compare_sample(const Store& store, std::uint32_t dataset) {
  return compare_frames(store, dataset, store.sample(dataset, kSampleAtRandom));
}

SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames, std::size_t threads,
                            const std::atomic<bool>* give_up) {
  SampleResult result;
  UniqueFd origin(
      ::open(store.dataset(dataset).path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Closed to root: each frame's owner is asked.
  bool owners_can_tell = errno == EACCES && ::geteuid() == 0;
  if (!origin.valid() && !owners_can_tell) {
    result.status = errno;
    return result;
  }
  result.compared = frames.size();
  std::vector<Compared> compared(frames.size());
  std::atomic<std::size_t> next = 0;
  auto work = [&](Clock::time_point until) {
    while (Clock::now() < until) {
      const std::size_t i = next++;
      if (i >= frames.size() || (give_up != nullptr && *give_up)) return;
      compared[i] = compare(store, dataset, frames[i], origin.get());
    }
  };
  // An origin that answers at once needs no threads, which would take from the job that starts.
  work(Clock::now() + kAlone);
  const std::size_t left = frames.size() - std::min<std::size_t>(next, frames.size());
  auto work_to_the_end = [&work] { work(Clock::time_point::max()); };
  WorkQueue others(WorkQueue::OnDemand{threads});
  for (std::size_t i = 1; i < std::min(threads, left); ++i) others.post(work_to_the_end);
  work_to_the_end();
  others.stop();

  bool any_gone = std::ranges::any_of(
      compared, [](const Compared& one) { return one.outcome == Comparison::kGone; });
  if (any_gone && is_empty(origin.get())) {
    result.status = ENOENT;
    return result;
  }
  for (const Compared& one : compared) {
    if (one.outcome == Comparison::kUnknown) ++result.unknown;
    if (one.outcome == Comparison::kArrived) result.arrived.push_back(one.copy.seq);
    if (one.outcome == Comparison::kStale || one.outcome == Comparison::kGone) {
      result.stale.push_back(one.copy);
    }
  }
  return result;
}

}  // namespace zazen
