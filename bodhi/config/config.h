// The configuration: one TOML file, small, strict. An unknown key is an error that names
// file, line and the likely spelling.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/config/dataset_list.h"
#include "bodhi/config/file_version.h"
#include "bodhi/config/live.h"
#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/frames/table.h"

namespace zazen {

struct DatasetConfig {
  std::string path;    // absolute, lexically normal, no '/' at its end
  std::string frames;  // the template as written
  FrameName name;      // compiled, with the patterns of `also`
  std::string also;    // patterns of companions, joined by '/' (companion_patterns.h)
  Live<FilterMode> filter = FilterMode::kOn;
  Live<AuditMode> audit = AuditMode::kFail;
  Live<Validate> validate = Validate::kSample;
  Live<Fill> fill = Fill::kBackground;
  Live<bool> push = false;     // frames written on this node are pushed when closed
  Live<bool> removed = false;  // by a reload: the dataset keeps its position, and is not served
  Live<std::int64_t> added_by = kNobody;  // the user who has added it by zazenctl add

  static constexpr std::int64_t kNobody = -1;

  std::vector<std::string> also_patterns() const;
};

enum class ReadOrderKey { kAuto, kFifo, kNone };  // kAuto: by the measured cost of a seek

struct Config {
  std::string file;                   // where it was read from
  std::vector<FileVersion> sources;   // what load_config() has read: the file and `included`
  std::string include;                // the pattern, as written
  std::vector<std::string> included;  // files that `include` names, by name
  std::string node;                   // default: the host name
  std::string cache;
  std::string runtime;
  Live<std::uint64_t> capacity_bytes = 0;  // 0: no limit
  Live<std::uint64_t> max_files = 0;       // 0: no limit
  // Free space that is kept on the cache's disk: a percentage, or bytes. The other one is 0.
  Live<std::uint64_t> keep_free_percent = 5;
  Live<std::uint64_t> keep_free_bytes = 0;
  // Limit for the natives of one owner: a percentage of the capacity, or bytes if not 0.
  Live<std::uint64_t> native_share_percent = 100;
  Live<std::uint64_t> native_share_bytes = 0;
  std::uint64_t sweep_ms = 3'600'000;  // every copy is compared within this time; 0: off
  ReadOrderKey read_order = ReadOrderKey::kAuto;
  bool all_users = false;  // users = "all": serves all users, not only the daemon's own user
  // "unix:DIR": the runtime directory of a daemon on this machine; or "HOST:PORT".
  std::vector<std::string> peers;
  Live<bool> has_peers = false;       // other than this daemon
  std::string listen;                 // "HOST:PORT", "": pushes come through the socket only
  std::string metrics;                // "127.0.0.1:PORT" for Prometheus; "": none
  std::vector<std::string> known_as;  // other "HOST:PORT" by which writers reach it
  std::string key_file;  // shared with writers and daemons on other machines; "": none
  std::uint64_t key_grace_ms = 3'600'000;       // a replaced key stays valid for this time
  std::uint64_t max_frame_bytes = 16ULL << 30;  // these three: of network pushes
  std::uint64_t max_connections = 128;
  std::uint64_t max_rate_bytes = 0;  // per second, of all connections together; 0: no limit
  // For programs that write by libbodhi (writer.h); except for the spool, also for the daemon.
  std::uint64_t writer_memory_bytes = 256'000'000;
  std::uint64_t writer_timeout_ms = 5'000;  // a node that is silent for this time is skipped
  std::string spool;                        // a directory; "": none
  std::uint64_t spool_limit_bytes = 4'000'000'000;
  Live<bool> user_datasets = false;  // users may add datasets of their own
  DatasetList<DatasetConfig> datasets;
  std::vector<DatasetConfig> patterns;  // paths with '*': each stands for many datasets

  // The daemon's own user may do what the configuration says.
  bool takes_datasets_of_users() const { return user_datasets || !all_users; }
  bool has_native_share() const {
    return native_share_bytes != 0 || native_share_percent != 100;
  }
  std::uint64_t keep_free(std::uint64_t disk_bytes) const {
    return keep_free_bytes + disk_bytes / 100 * keep_free_percent;
  }
  const DatasetConfig* dataset_at(const std::string& path) const;  // exact path
};

// The targets of the paths, with links followed as far as they exist. A path on a file system
// that does not answer within a second is returned unchanged.
std::vector<std::string> follow_links(const std::vector<std::string>& paths);
using FollowLinks =
    std::function<std::vector<std::string>(const std::vector<std::string>& paths)>;

// The error's message is for people: "FILE:LINE: ...", with a hint where there is one.
// error().context has the complete message; do not append strerror. `follow` resolves links,
// which decides which directories of the configuration overlap.
Result<Config> load_config(const std::string& file, const FollowLinks& follow = follow_links);
Result<Config> parse_config(const std::string& text, const std::string& file,
                            const FollowLinks& follow = follow_links);

// The file in which zazend keeps what users have added: [[dataset]] with `path`, `frames` and
// `uid`.
Result<std::vector<DatasetConfig>> parse_user_datasets(const std::string& text,
                                                       const std::string& file);

// --config, else $ZAZEN_CONFIG, else ~/.config/zazen/zazen.toml, else /etc/zazen/zazen.toml.
Result<std::string> find_config(const std::optional<std::string>& command_line);

// The likely spelling among `known`, or "" (spelling.cc).
std::string closest_spelling(const std::string& word, const std::vector<std::string>& known);

}  // namespace zazen
