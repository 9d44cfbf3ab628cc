// OriginHistory: an origin of two datasets, with flat names and names with directories. Its
// frames are rewritten from time to time, and it keeps every version of each frame.
#pragma once
#include <sys/stat.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"

namespace zazen {

class OriginHistory {
 public:
  static constexpr std::uint32_t kDatasets = 2;
  static constexpr FrameSeq kFrames = 12;

  struct Version {
    std::string bytes;
    struct stat origin;
  };

  // Every frame's first version, below `directory`.
  OriginHistory(const std::string& directory, std::mt19937_64& random);

  const DatasetList<DatasetConfig>& datasets() const { return datasets_; }
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;
  UniqueFd open(std::uint32_t dataset, FrameSeq seq) const;
  const std::vector<Version>& versions(std::uint32_t dataset, FrameSeq seq) const {
    return versions_.at({dataset, seq});
  }
  std::size_t newest(std::uint32_t dataset, FrameSeq seq) const {
    return versions(dataset, seq).size() - 1;
  }
  void rewrite(std::uint32_t dataset, FrameSeq seq, std::mt19937_64& random);

 private:
  DatasetList<DatasetConfig> datasets_;
  std::map<std::pair<std::uint32_t, FrameSeq>, std::vector<Version>> versions_;
};

}  // namespace zazen
