// FrameReader: opens frames for programs that use the cache directly. It opens the local copy
// by the shim's rule (copy_rule.h), else the origin, whose descriptor it passes to the daemon
// for a fill. Thread safe.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/local_copy.h"
#include "bodhi/writer/writer_settings.h"

namespace zazen {

class NodeMap;

class FrameReader {
 public:
  FrameReader(std::string runtime, std::string config_file);
  ~FrameReader();

  // How the dataset's frames are named.
  Result<FrameName> name_of(const std::string& dataset);
  // A descriptor of the whole frame, read only.
  Result<UniqueFd> open(const std::string& dataset, FrameSeq seq);
  // The frames of the range that the node holds, ascending; none without a daemon.
  Result<std::vector<FrameSeq>> held(const std::string& dataset, bool natives, bool aliens,
                                     FrameRange range);

 private:
  std::shared_ptr<NodeMap> node();  // null: no daemon serves
  Result<FrameName> name_without_node(const std::string& dataset);

  const std::string runtime_, config_file_;
  DaemonLink daemon_;
  std::mutex mutex_;
  std::shared_ptr<NodeMap> node_;
  std::vector<WriterSettings::Dataset> datasets_;  // as configured; read when no daemon serves
};

}  // namespace zazen
