#include "cluster_on_disk.h"

#include <fcntl.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "bodhi/common/unique_fd.h"
#include "bodhi/node/seqlog.h"

namespace zazen {
namespace fs = std::filesystem;

ClusterOnDisk::ClusterOnDisk()
    : root_((fs::temp_directory_path() / "zazen-coord-XXXXXX").string()) {
  if (::mkdtemp(root_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  fs::create_directories(temporary());
  datasets_.reserve(8);
}

ClusterOnDisk::~ClusterOnDisk() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

const DatasetOnDisk& ClusterOnDisk::add_dataset(const std::string& name,
                                                const std::string& frames,
                                                const std::vector<std::string>& files) {
  const std::string path = root_ + "/origin/" + name;
  fs::create_directories(path);
  for (const std::string& file : files) std::ofstream(path + '/' + file) << file;
  return datasets_.emplace_back(path, frames);
}

void ClusterOnDisk::add_node() {
  fs::create_directories(runtime(nodes_) + '/' + kJobsDirectory);
  fs::create_directories(cache(nodes_));
  ++nodes_;
}

std::string ClusterOnDisk::runtime(std::size_t node) const {
  return root_ + "/run" + std::to_string(node);
}
std::string ClusterOnDisk::cache(std::size_t node) const {
  return root_ + "/cache" + std::to_string(node);
}

void ClusterOnDisk::hold(std::size_t node, const DatasetOnDisk& dataset,
                         const std::vector<FrameSeq>& natives,
                         const std::vector<FrameSeq>& aliens) {
  const std::string directory = cache(node) + dataset.path;
  fs::create_directories(directory + '/' + kDatasetStateDirectory);
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto write = [&](const char* name, const std::vector<FrameSeq>& frames) {
    Result<SequenceLog> log = SequenceLog::open(fd.get(), name);
    if (!log || !log->append(frames, {})) throw std::runtime_error("log");
  };
  write(kNativeLog, natives);
  write(kAlienLog, aliens);
}

void ClusterOnDisk::keep_listing(std::size_t node, const DatasetOnDisk& dataset,
                                 const Listing& listing) {
  const std::string directory = cache(node) + dataset.path;
  fs::create_directories(directory + '/' + kDatasetStateDirectory);
  std::ofstream(directory + '/' + kListingFile, std::ios::binary) << encode_listing(listing);
}

std::vector<std::uint64_t> make_table(std::size_t node, const std::string& cache,
                                      const std::vector<DatasetOnDisk>& datasets) {
  const auto count = static_cast<std::uint32_t>(datasets.size());
  std::vector<std::uint64_t> memory((table_size(count) + 7) / 8);
  auto* table = reinterpret_cast<Table*>(memory.data());
  table->magic = kTableMagic;
  table->version = kTableVersion;
  table->dataset_count = count;
  table->file_size = table_size(count);
  table->node_id.bytes[0] = static_cast<std::uint8_t>(node + 1);
  std::strcpy(table->node_name, ("n" + std::to_string(node)).c_str());
  std::strcpy(table->cache, cache.c_str());
  table->state = DaemonState::kServing;
  table->heartbeat_ms = std::numeric_limits<std::int64_t>::max() / 2;  // however slow the test
  for (std::uint32_t d = 0; d < count; ++d) {
    std::strcpy(table->datasets[d].path, datasets[d].path.c_str());
    std::strcpy(table->datasets[d].frames, datasets[d].frames.c_str());
    table->datasets[d].filter = FilterMode::kOn;
  }
  return memory;
}

Table* ClusterOnDisk::mutable_table(std::size_t node) {
  while (tables_.size() < nodes_)
    tables_.push_back(make_table(tables_.size(), cache(tables_.size()), datasets_));
  return reinterpret_cast<Table*>(tables_[node].data());
}

const Table* ClusterOnDisk::table(std::size_t node) {
  return mutable_table(node);
}

std::vector<std::string> ClusterOnDisk::view_directories() const {
  std::vector<std::string> found;
  auto look = [&](const std::string& parent) {
    for (const auto& entry : fs::directory_iterator(parent)) found.push_back(entry.path());
  };
  for (std::size_t n = 0; n < nodes_; ++n) look(runtime(n) + '/' + kJobsDirectory);
  look(temporary());
  return found;
}

}  // namespace zazen
