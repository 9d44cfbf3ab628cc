// A cluster laid out on disk for the tests: an origin with frames, and the directories of each
// node. A node has a cache with its logs, and a runtime directory with a table as its daemon
// would publish it.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bodhi/lean/frames/table.h"
#include "bodhi/node/listing.h"

namespace zazen {

struct DatasetOnDisk {
  std::string path;
  std::string frames;
};

// The memory of a table like the one that the daemon of this node would publish.
std::vector<std::uint64_t> make_table(std::size_t node, const std::string& cache,
                                      const std::vector<DatasetOnDisk>& datasets);

class ClusterOnDisk {
 public:
  ClusterOnDisk();
  ~ClusterOnDisk();
  ClusterOnDisk(const ClusterOnDisk&) = delete;
  ClusterOnDisk& operator=(const ClusterOnDisk&) = delete;

  // Makes a directory of the origin with these files.
  const DatasetOnDisk& add_dataset(const std::string& name, const std::string& frames,
                                   const std::vector<std::string>& files);
  void add_node();
  void hold(std::size_t node, const DatasetOnDisk& dataset,
            const std::vector<FrameSeq>& natives, const std::vector<FrameSeq>& aliens);
  void keep_listing(std::size_t node, const DatasetOnDisk& dataset, const Listing& listing);

  const Table* table(std::size_t node);
  Table* mutable_table(std::size_t node);
  std::string runtime(std::size_t node) const;
  std::string cache(std::size_t node) const;
  std::string temporary() const { return root_ + "/tmp"; }
  const std::vector<DatasetOnDisk>& datasets() const { return datasets_; }
  // Directories of views that are there, on all nodes and in the temporary directory.
  std::vector<std::string> view_directories() const;

 private:
  std::string root_;
  std::size_t nodes_ = 0;
  std::vector<DatasetOnDisk> datasets_;
  std::vector<std::vector<std::uint64_t>> tables_;
};

}  // namespace zazen
