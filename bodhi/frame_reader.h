// FrameReader: opens frames for programs that know of the cache, by the rules that the shim
// has: the local copy if the daemon lives and the copy can be trusted (D10, D15), else the
// origin, whose descriptor is handed to the daemon for a fill.
//
// A hit makes no call to the daemon, but for the sample when a dataset is first used and again
// after half a minute, and where reads are ordered (D17). Thread safe.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/base_types.h"
#include "bodhi/result.h"
#include "bodhi/unique_fd.h"
#include "bodhi/writer_settings.h"

namespace zazen {

class NodeMap;

class FrameReader {
 public:
  FrameReader(std::string runtime, std::string config_file);
  ~FrameReader();

  // A descriptor of the whole frame, read only.
  Result<UniqueFd> open(const std::string& dataset, FrameSeq seq);
  // The frames of the range that the node holds, ascending; none without a daemon.
  Result<std::vector<FrameSeq>> held(const std::string& dataset, bool natives, bool aliens,
                                     FrameRange range);

 private:
  std::shared_ptr<NodeMap> node();  // null: no daemon serves
  Result<FrameName> name_without_node(const std::string& dataset);

  const std::string runtime_, config_file_;
  std::mutex mutex_;
  std::shared_ptr<NodeMap> node_;
  std::vector<WriterSettings::Dataset> datasets_;  // as configured; read when no daemon serves
};

}  // namespace zazen
