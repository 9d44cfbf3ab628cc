#include "daemon/service/seek_cost.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "bodhi/lean/requests/wire.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kMostReads = 24, kLeastReads = 6, kMostCopies = 16;
constexpr std::chrono::milliseconds kLimit(200);

struct OpenCopy {
  UniqueFd file;
  off_t blocks;  // of kReadBytes
};

std::vector<OpenCopy> some_copies(const Store& store) {
  std::vector<OpenCopy> copies;
  for (std::uint32_t dataset = 0; dataset < store.usage().datasets.size(); ++dataset) {
    for (FrameSeq seq : store.sample(dataset, kMostCopies)) {
      if (copies.size() == kMostCopies) return copies;
      UniqueFd file = store.open_copy(dataset, seq);
      struct stat st = {};
      if (!file.valid() || ::fstat(file.get(), &st) != 0 || st.st_size < kOrderedBytes)
        continue;
      if (::fcntl(file.get(), F_SETFL, O_DIRECT) != 0) continue;
      copies.push_back({std::move(file), st.st_size / off_t{kReadBytes}});
    }
  }
  return copies;
}

double lower_quartile(std::vector<double>& values) {
  auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

ReadTimes time_reads(const Store& store) {
  alignas(kReadBytes) static thread_local char buffer[kReadBytes];
  ReadTimes times;
  std::vector<OpenCopy> copies = some_copies(store);
  if (copies.empty()) return times;
  std::mt19937_64 random(std::random_device{}());
  const Clock::time_point begin = Clock::now();
  while (times.random.size() < kMostReads && Clock::now() - begin < kLimit) {
    const OpenCopy& copy = copies[random() % copies.size()];
    off_t block = static_cast<off_t>(random() % static_cast<std::uint64_t>(copy.blocks - 1));
    for (std::vector<double>* kind : {&times.random, &times.sequential}) {
      DiskHealth::Operation operation(store.health());
      const Clock::time_point asked = Clock::now();
      const ssize_t size =
          ::pread(copy.file.get(), buffer, kReadBytes, block++ * off_t{kReadBytes});
      if (size != ssize_t{kReadBytes}) return {};
      kind->push_back(std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
    }
  }
  return times;
}

std::optional<double> seek_cost_ms(ReadTimes times) {
  if (std::min(times.random.size(), times.sequential.size()) < kLeastReads) return std::nullopt;
  return std::max(0.0, lower_quartile(times.random) - lower_quartile(times.sequential));
}

}  // namespace zazen
