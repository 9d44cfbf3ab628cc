// WriterSettings: a writer's nodes and its limits. They come from the configuration. A program
// that knows only a daemon's runtime directory takes them from that daemon's table.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/push/key_ring.h"

namespace zazen {

struct Config;

struct WriterSettings {
  struct Dataset {
    std::string path;
    FrameName name;
  };

  std::vector<std::string> peers;  // none configured: the node's own daemon
  std::vector<Dataset> datasets;
  std::shared_ptr<KeyRing> keys = std::make_shared<KeyRing>();
  // Read again when a node refuses the key, because it may have been replaced; "": never.
  std::string key_file;
  std::uint64_t key_grace_ms = 0;
  std::uint64_t memory_bytes = 256'000'000;
  std::string spool;  // a directory; "": none
  std::uint64_t spool_bytes = 4'000'000'000;
  // A frame of the origin that is being written is not pushed; may be empty.
  std::function<bool(const std::string& dataset, FrameSeq seq)> is_being_written;
  int timeout_ms = 5'000;  // a node that does not answer within this time is skipped
  // A node without work for this time has no thread and no connection until there is work; 0:
  // it keeps both.
  int idle_ms = 0;
  std::size_t homes = 1 << 16;  // for this many frames the previous node is remembered
};

Result<WriterSettings> writer_settings(const Config& config);
// With keys that another process reads.
WriterSettings writer_settings(const Config& config, std::shared_ptr<KeyRing> keys);
// config_file may be "": then only the runtime directory is known.
Result<WriterSettings> writer_settings(const std::string& config_file,
                                       const std::string& runtime);

}  // namespace zazen
