#include "daemon/sample.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

namespace zazen {
namespace {

constexpr std::size_t kThreads = 8;

// An origin that does not answer proves nothing against a copy; a missing file does.
bool is_stale(const Store& store, std::uint32_t dataset, FrameSeq seq, int origin_directory) {
  OriginIdentity copy = {};
  if (store.read_copy_identity(dataset, seq, &copy) != 0) return true;
  struct stat origin = {};
  std::string name = store.name_of(dataset, seq);
  if (::fstatat(origin_directory, name.c_str(), &origin, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT || errno == ENOTDIR;
  }
  return !same_file(copy, origin);
}

}  // namespace

SampleResult compare_sample(const Store& store, std::uint32_t dataset) {
  SampleResult result;
  UniqueFd origin(
      ::open(store.dataset(dataset).path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!origin.valid()) {
    result.status = errno;
    return result;
  }
  std::vector<FrameSeq> chosen = store.sample(dataset, kSampleAtRandom);
  result.compared = chosen.size();
  std::vector<char> stale(chosen.size(), 0);
  std::atomic<std::size_t> next = 0;
  auto compare = [&] {
    for (std::size_t i = next++; i < chosen.size(); i = next++) {
      stale[i] = is_stale(store, dataset, chosen[i], origin.get()) ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  std::size_t count = std::min(kThreads, chosen.size());
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(compare);
  compare();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (stale[i] != 0) result.stale.push_back(chosen[i]);
  }
  return result;
}

}  // namespace zazen
