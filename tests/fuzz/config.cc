// A configuration file: refused with a sentence, or sound; and then the shim's scan finds the
// same runtime directory.
#include "bodhi/config/config.h"

#include <filesystem>

#include "bodhi/lean/system/runtime_line.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

// The configuration holds a path without empty parts, the shim takes it as it is written.
static bool are_one_directory(const std::string& written, const std::string& kept) {
  return (std::filesystem::path(written) / "").lexically_normal() == kept + "/";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(as_text(data, size));
  Result<Config> config = parse_config(text, "zazen.toml");
  if (!config.ok()) {
    demand(config.error().context.starts_with("zazen.toml:") || text.find("include") < size);
    return 0;
  }
  char runtime[kMaxPath];
  std::size_t length = scan_runtime_line(text.data(), text.size(), runtime, sizeof runtime);
  demand(are_one_directory(std::string(runtime, length), config->runtime));
  demand(config->cache.starts_with('/') && config->datasets.size() <= kMaxDatasets);
  for (const DatasetConfig& dataset : config->datasets) {
    demand(dataset.path.starts_with('/') && !dataset.path.ends_with('/'));
    demand(dataset.path.size() < kMaxPath && dataset.path.find('\0') == std::string::npos);
    demand(config->dataset_at(dataset.path) == &dataset);
  }
  return 0;
}
