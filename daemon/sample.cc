#include "daemon/sample.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "daemon/origin.h"

namespace zazen {
namespace {

constexpr std::size_t kThreads = 8;

// An origin that does not answer proves nothing against a copy; a missing file does.
bool is_stale(const Store& store, std::uint32_t dataset, FrameSeq seq, int origin_directory) {
  OriginIdentity copy = {};
  if (store.read_copy_identity(dataset, seq, &copy) != 0) return true;
  struct stat origin = {};
  std::string name = store.name_of(dataset, seq);
  int code = stat_origin(origin_directory, store.dataset(dataset).path, name, copy, &origin);
  if (code != 0) return code == ENOENT || code == ENOTDIR;
  return !same_file(copy, origin);
}

}  // namespace

SampleResult compare_sample(const Store& store, std::uint32_t dataset) {
  return compare_frames(store, dataset, store.sample(dataset, kSampleAtRandom));
}

SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames) {
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
  std::vector<char> stale(frames.size(), 0);
  std::atomic<std::size_t> next = 0;
  auto compare = [&] {
    for (std::size_t i = next++; i < frames.size(); i = next++) {
      stale[i] = is_stale(store, dataset, frames[i], origin.get()) ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  std::size_t count = std::min(kThreads, frames.size());
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(compare);
  compare();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (stale[i] != 0) result.stale.push_back(frames[i]);
  }
  return result;
}

}  // namespace zazen
