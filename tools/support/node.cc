#include "tools/support/node.h"

#include <cstdlib>

#include "bodhi/lean/system/runtime_line.h"
#include "tools/support/output.h"
#include "tools/support/table_state.h"

namespace zazen {
namespace {

// Of the datasets that users have added, and those that a path with '*' stands for, only the
// daemon knows.
void add_served_datasets(Node* node) {
  const std::optional<Node> served = node_of_daemon(node->config.file, node->runtime);
  if (!served) return;
  for (const DatasetConfig& each : served->config.datasets) {
    const bool is_full = node->config.datasets.size() == kMaxDatasets;
    if (is_full || node->config.dataset_at(each.path) != nullptr) continue;
    node->config.datasets.push_back(each);
  }
}

Node node_of(Config loaded, bool is_named) {
  Node node{std::move(loaded), {}};
  node.runtime = node.config.runtime;
  if (is_named) return node;
  const char* runtime = secure_getenv("ZAZEN_RUNTIME");
  if (runtime != nullptr && *runtime != '\0') node.runtime = runtime;
  return node;
}

}  // namespace

Result<Node> load_node(const std::optional<std::string>& config) {
  Result<std::string> file = find_config(config);
  if (!file) return file.error();
  Result<Config> loaded = load_config(*file);
  if (!loaded) return loaded.error();
  Node node = node_of(std::move(*loaded), config.has_value());
  add_served_datasets(&node);
  return node;
}

std::optional<Node> node_of_daemon(const std::string& config_file, const std::string& runtime) {
  const TableState daemon(runtime);
  if (!daemon.serves()) return std::nullopt;
  Node node;
  node.config.file = config_file;
  node.config.runtime = node.runtime = runtime;
  for (std::uint32_t i = 0; i < daemon.table().dataset_count; ++i) {
    const TableDataset& entry = daemon.table().datasets[i];
    DatasetConfig dataset;
    if (entry.removed != 0 || !names_of(entry, &dataset.name)) continue;
    dataset.path = entry.path;
    dataset.frames = entry.frames;
    dataset.also = entry.also;
    dataset.filter = entry.filter;
    dataset.audit = entry.audit;
    dataset.validate = entry.validate;
    dataset.fill = entry.fill;
    dataset.push = entry.push != 0;
    node.config.datasets.push_back(std::move(dataset));
  }
  return node;
}

Node load_node_or_exit(const std::optional<std::string>& config, int exit_status) {
  Result<Node> node = load_node(config);
  if (node) return std::move(*node);
  print_error(node.error().context, node.error().hint);
  std::exit(exit_status);
}

Node find_node_or_exit(const std::optional<std::string>& config) {
  if (Result<Node> node = load_node(config)) return std::move(*node);
  const Result<std::string> file = find_config(config);
  char runtime[kMaxPath];
  if (!file || scan_runtime_file(file->c_str(), runtime, sizeof runtime) == 0) {
    return load_node_or_exit(config, kUsage);
  }
  Config scanned;
  scanned.file = *file;
  scanned.runtime = runtime;
  return node_of(std::move(scanned), config.has_value());
}

Silence silence_of(const std::string& runtime, int code, const std::string& config_file) {
  if (other_table_version(runtime.c_str()) != 0) {
    return {runtime + ": its zazend is of another version of Zazen",
            "zazenctl --version and zazend --version differ: install one, and restart zazend"};
  }
  const std::string start = "start it with: zazenctl --config " + config_file + " start";
  return {runtime + ": no daemon answers: " + std::strerror(code),
          code == EACCES      ? "this daemon serves its own user only"
          : code == ETIMEDOUT ? "it is stopped or overloaded; its log may say why"
                              : start};
}

Client connect_or_exit(const Node& node, int timeout_ms) {
  Result<Client> client = Client::connect(node.runtime, timeout_ms);
  if (client) return std::move(*client);
  const Silence silence = silence_of(node.runtime, client.error().code, node.config.file);
  print_error(silence.reason, silence.hint);
  std::exit(kNoDaemon);
}

int request_failed(const Node& node, const std::string& subject, const Error& error) {
  if (is_silence(error)) {
    const Silence silence = silence_of(node.runtime, error.code, node.config.file);
    print_error(silence.reason, silence.hint);
    return kNoDaemon;
  }
  if (error.code == ENOENT) {
    print_error(subject + ": the daemon does not serve it",
                "zazenctl reload, if the configuration was changed while it ran");
    return kFailed;
  }
  print_error(subject + ": " + std::strerror(error.code), error.hint);
  return kFailed;
}

bool is_silence(const Error& error) {
  switch (error.code) {
    case ETIMEDOUT:
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EPIPE:
      return true;
    default:
      return false;
  }
}

}  // namespace zazen
