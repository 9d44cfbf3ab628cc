#include "bodhi/writer/writer_settings.h"

#include <memory>

#include "bodhi/config/config.h"
#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

Result<WriterSettings> settings_of_table(const std::string& runtime) {
  struct Unmap {
    void operator()(const Table* table) const { unmap_table(table); }
  };
  bool is_held = false;
  std::unique_ptr<const Table, Unmap> table(map_table(runtime.c_str(), &is_held));
  if (!table) {
    return Error{ENOENT, runtime + ": no daemon has left a table there", {}};
  }
  WriterSettings settings;
  settings.peers = {"unix:" + runtime};
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    const TableDataset& entry = table->datasets[i];
    WriterSettings::Dataset dataset{entry.path, {}};
    const char* why = "";
    if (entry.removed == 0 &&
        FrameName::parse(entry.frames, std::string(entry.frames).size(), &dataset.name, &why)) {
      settings.datasets.push_back(std::move(dataset));
    }
  }
  return settings;
}

}  // namespace

WriterSettings writer_settings(const Config& config, std::shared_ptr<KeyRing> keys) {
  WriterSettings settings;
  for (const DatasetConfig& dataset : config.datasets) {
    settings.datasets.push_back({dataset.path, dataset.name});
  }
  settings.peers = config.peers;
  if (settings.peers.empty()) settings.peers = {"unix:" + config.runtime};
  settings.memory_bytes = config.writer_memory_bytes;
  settings.timeout_ms = static_cast<int>(config.writer_timeout_ms);
  settings.spool = config.spool;
  settings.spool_bytes = config.spool_limit_bytes;
  settings.keys = std::move(keys);
  return settings;
}

Result<WriterSettings> writer_settings(const Config& config) {
  auto keys = std::make_shared<KeyRing>(config.key_file);
  if (Result<Credentials> read = keys->credentials(); !read) return read.error();
  WriterSettings settings = writer_settings(config, std::move(keys));
  settings.key_file = config.key_file;
  settings.key_grace_ms = config.key_grace_ms;
  return settings;
}

Result<WriterSettings> writer_settings(const std::string& config_file,
                                       const std::string& runtime) {
  if (config_file.empty()) return settings_of_table(runtime);
  Result<Config> config = load_config(config_file);
  if (!config) return config.error();
  return writer_settings(*config);
}

}  // namespace zazen
