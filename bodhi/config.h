// The configuration: one TOML file, small, strict. An unknown key is an error that names
// file, line and the likely spelling.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/frame_name.h"
#include "bodhi/result.h"
#include "bodhi/table.h"

namespace zazen {

struct DatasetConfig {
  std::string path;    // absolute, lexically normal, no '/' at its end
  std::string frames;  // the template as written
  FrameName name;      // compiled
  bool filter = true;
  Validate validate = Validate::kSample;
  Fill fill = Fill::kBackground;
};

struct Config {
  std::string file;  // where it was read from
  std::string node;  // default: the host name
  std::string cache;
  std::string runtime;
  std::uint64_t capacity_bytes = 0;  // 0: no limit
  std::uint64_t max_files = 0;       // 0: no limit
  std::uint64_t keep_free_bytes = 0;
  bool all_users = false;          // users = "all": serve them all, not only the daemon's own
  std::vector<std::string> peers;  // "unix:DIR": the runtime directory of a daemon
  std::vector<DatasetConfig> datasets;

  const DatasetConfig* dataset_at(const std::string& path) const;  // exact path
};

// The error's message is ready for people: "FILE:LINE: ...", with a hint where there is one.
// (error().context holds it whole; do not append strerror.)
Result<Config> load_config(const std::string& file);
Result<Config> parse_config(const std::string& text, const std::string& file);

// --config, else $ZAZEN_CONFIG, else ~/.config/zazen/zazen.toml, else /etc/zazen/zazen.toml.
Result<std::string> find_config(const std::optional<std::string>& command_line);

// The likely spelling among `known`, or "".
std::string closest_spelling(const std::string& word, const std::vector<std::string>& known);

}  // namespace zazen
