#include "daemon/service/reload.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "daemon/process/log.h"
#include "daemon/process/notify.h"

namespace zazen {
namespace {

void say_needs_restart(const std::string& subject, const char* key) {
  log_line(LogLevel::kWarn, "needs_restart", {{"subject", subject}, {"key", key}});
}

// The copies of a removed dataset still count, and must not belong to another dataset as well.
bool overlap(const std::string& a, const std::string& b) {
  const std::string& inner = a.size() < b.size() ? b : a;
  const std::string& outer = a.size() < b.size() ? a : b;
  return inner.starts_with(outer + "/");
}

}  // namespace

void Reload::run() {
  notify_reloading();
  Result<Config> next =
      load_config(config_.file, std::bind_front(&Service::follow_links, &service_));
  Status done = next.ok() ? apply(*next) : Status(next.error());
  if (done.ok()) {
    auto served = std::ranges::count(config_.datasets, false, [](const DatasetConfig& dataset) {
      return dataset.removed.get();
    });
    log_line(LogLevel::kInfo, "reloaded",
             {{"file", config_.file},
              {"datasets", std::to_string(served)},
              {"capacity_bytes", std::to_string(config_.capacity_bytes.get())},
              {"max_files", std::to_string(config_.max_files.get())},
              {"keep_free", config_.keep_free_percent != 0
                                ? std::to_string(config_.keep_free_percent.get()) + "%"
                                : std::to_string(config_.keep_free_bytes.get())}});
  } else {
    log_line(LogLevel::kError, "reload_failed",
             {{"error", done.error().context}, {"hint", done.error().hint}});
  }
  notify_service_manager("READY=1");
}

Status Reload::apply(const Config& next) {
  if (next.node != config_.node) say_needs_restart(config_.file, "node");
  if (next.cache != config_.cache) say_needs_restart(config_.file, "cache");
  if (next.all_users != config_.all_users) say_needs_restart(config_.file, "users");
  if (next.sweep_ms != config_.sweep_ms) say_needs_restart(config_.file, "sweep");
  if (next.read_order != config_.read_order) say_needs_restart(config_.file, "read_order");
  if (next.runtime != config_.runtime) say_needs_restart(config_.file, "runtime");
  if (next.listen != config_.listen) say_needs_restart(config_.file, "listen");
  if (next.known_as != config_.known_as) say_needs_restart(config_.file, "known_as");
  config_.capacity_bytes = next.capacity_bytes;
  config_.max_files = next.max_files;
  config_.keep_free_percent = next.keep_free_percent;
  config_.keep_free_bytes = next.keep_free_bytes;
  config_.native_share_percent = next.native_share_percent;
  config_.native_share_bytes = next.native_share_bytes;
  config_.has_peers = next.has_peers;

  Status done = Done{};
  for (DatasetConfig& dataset : config_.datasets) {
    if (next.dataset_at(dataset.path) == nullptr) dataset.removed = true;
  }
  for (const DatasetConfig& dataset : next.datasets) {
    if (Status updated = update(dataset); !updated.ok()) done = updated;
  }
  renew_key(next);
  service_.renew(next);
  if (Status published = publisher_.republish(config_); !published.ok()) return published;
  store_.keep_limits();
  return done;
}

// The existence of a key decides who may push. That is checked once, at the start.
void Reload::renew_key(const Config& next) {
  if (!config_.listen.empty() && next.key_file.empty() != config_.key_file.empty()) {
    return say_needs_restart(config_.file, "key_file");
  }
  const Result<bool> renewed =
      service_.keys().read(next.key_file, std::chrono::milliseconds(next.key_grace_ms));
  if (!renewed) {
    log_line(LogLevel::kError, "key_not_read",
             {{"error", renewed.error().context},
              {"what", "the key of before stays in force"},
              {"hint", renewed.error().hint}});
  } else if (*renewed) {
    const std::optional<std::time_t> until = service_.keys().old_key_until();
    log_line(LogLevel::kInfo, "new_key",
             {{"file", next.key_file},
              {"old_key", until ? fmt::format("good until {:%FT%TZ}", fmt::gmtime(*until))
                                : "refused from now on"}});
  }
}

Status Reload::update(const DatasetConfig& next) {
  auto known = std::ranges::find(config_.datasets, next.path, &DatasetConfig::path);
  if (known == config_.datasets.end()) return add(next);
  if (known->frames != next.frames) {
    say_needs_restart(next.path, "frames");
    return Done{};
  }
  if (known->also != next.also) say_needs_restart(next.path, "also");
  known->filter = next.filter;
  known->audit = next.audit;
  known->validate = next.validate;
  known->fill = next.fill;
  known->push = next.push;
  if (known->removed) {  // nobody watched its copies meanwhile
    service_.doubt(static_cast<std::uint32_t>(known - config_.datasets.begin()));
  }
  known->removed = false;
  return Done{};
}

Status Reload::add(const DatasetConfig& next) {
  if (config_.datasets.size() == kMaxDatasets) {
    return Error{E2BIG, "dataset " + next.path + ": no position is left", "restart zazend"};
  }
  for (const DatasetConfig& dataset : config_.datasets) {
    if (!overlap(dataset.path, next.path)) continue;
    return Error{EEXIST,
                 "dataset " + next.path + ": copies of the removed dataset " + dataset.path +
                     " are in the way",
                 "restart zazend"};
  }
  Result<UniqueFd> directory = store_.make_directory(next);
  if (!directory.ok()) return directory.error();
  auto index = static_cast<std::uint32_t>(config_.datasets.size());
  DatasetConfig not_yet = next;
  not_yet.removed = true;
  config_.datasets.push_back(not_yet);
  if (Status added = store_.add_dataset(std::move(*directory)); !added.ok()) {
    config_.datasets.pop_back();
    return added;
  }
  service_.doubt(index);
  service_.take_up(index);
  config_.datasets[index].removed = false;
  return Done{};
}

}  // namespace zazen
