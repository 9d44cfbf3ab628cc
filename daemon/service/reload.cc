#include "daemon/service/reload.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "bodhi/config/included_files.h"
#include "daemon/process/daemonize.h"
#include "daemon/process/log.h"
#include "daemon/process/notify.h"
#include "daemon/process/shortage.h"
#include "daemon/service/more_datasets.h"

namespace zazen {
namespace {

constexpr std::size_t kMostWaiting = 2;  // changes of one user's datasets

using Json = nlohmann::ordered_json;

// The copies of a removed dataset still count, and must not belong to another dataset as well.
bool overlap(const std::string& a, const std::string& b) {
  const std::string& inner = a.size() < b.size() ? b : a;
  const std::string& outer = a.size() < b.size() ? a : b;
  return inner.starts_with(outer + "/");
}

Json keys_json(const std::vector<ReloadOutcome::Key>& keys) {
  Json list = Json::array();
  for (const ReloadOutcome::Key& one : keys) {
    list.push_back(
        {{"dataset", one.dataset.empty() ? Json() : Json(one.dataset)}, {"key", one.key}});
  }
  return list;
}

// Calls visit(key, value, value of the other) for the keys of the node, and for those of a
// dataset. kAtStart: they take effect when the daemon starts.
enum class Takes { kEffect, kAtStart };
template <class Visit>
void visit_keys(const Config& a, const Config& b, const Visit& visit) {
  visit(Takes::kAtStart, "node", a.node, b.node);
  visit(Takes::kAtStart, "cache", a.cache, b.cache);
  visit(Takes::kAtStart, "users", a.all_users, b.all_users);
  visit(Takes::kAtStart, "sweep", a.sweep_ms, b.sweep_ms);
  visit(Takes::kAtStart, "read_order", a.read_order, b.read_order);
  visit(Takes::kAtStart, "runtime", a.runtime, b.runtime);
  visit(Takes::kAtStart, "listen", a.listen, b.listen);
  visit(Takes::kAtStart, "metrics", a.metrics, b.metrics);
  visit(Takes::kAtStart, "known_as", a.known_as, b.known_as);
  visit(Takes::kAtStart, "max_frame", a.max_frame_bytes, b.max_frame_bytes);
  visit(Takes::kAtStart, "max_connections", a.max_connections, b.max_connections);
  visit(Takes::kAtStart, "max_rate", a.max_rate_bytes, b.max_rate_bytes);
  visit(Takes::kEffect, "capacity", a.capacity_bytes.get(), b.capacity_bytes.get());
  visit(Takes::kEffect, "max_files", a.max_files.get(), b.max_files.get());
  visit(Takes::kEffect, "keep_free",
        std::pair(a.keep_free_percent.get(), a.keep_free_bytes.get()),
        std::pair(b.keep_free_percent.get(), b.keep_free_bytes.get()));
  visit(Takes::kEffect, "native_share",
        std::pair(a.native_share_percent.get(), a.native_share_bytes.get()),
        std::pair(b.native_share_percent.get(), b.native_share_bytes.get()));
  visit(Takes::kEffect, "user_datasets", a.user_datasets.get(), b.user_datasets.get());
  visit(Takes::kEffect, "include", a.include, b.include);
  visit(Takes::kEffect, "peers", a.peers, b.peers);
  visit(Takes::kEffect, "key_file", a.key_file, b.key_file);
  visit(Takes::kEffect, "key_grace", a.key_grace_ms, b.key_grace_ms);
  visit(Takes::kEffect, "writer_memory", a.writer_memory_bytes, b.writer_memory_bytes);
  visit(Takes::kEffect, "writer_timeout", a.writer_timeout_ms, b.writer_timeout_ms);
}

template <class Visit>
void visit_keys(const DatasetConfig& a, const DatasetConfig& b, const Visit& visit) {
  visit(Takes::kAtStart, "frames", a.frames, b.frames);
  visit(Takes::kAtStart, "also", a.also, b.also);
  visit(Takes::kEffect, "filter", a.filter.get(), b.filter.get());
  visit(Takes::kEffect, "audit", a.audit.get(), b.audit.get());
  visit(Takes::kEffect, "validate", a.validate.get(), b.validate.get());
  visit(Takes::kEffect, "fill", a.fill.get(), b.fill.get());
  visit(Takes::kEffect, "push", a.push.get(), b.push.get());
}

struct FilesNow {
  std::vector<FileVersion> versions;
  std::int64_t changed_at = 0;  // the last change
};

// The configuration of this pattern in `include`, and when the last of its files was changed.
FilesNow look_at_files(const std::string& file, const std::string& include) {
  FilesNow now;
  const auto look = [&now](const std::string& path, bool is_part) {
    struct stat st = {};
    FileVersion version = FileVersion::of(path, &st);
    // A file that is moved to this name keeps its mtime.
    const std::int64_t at = version.ino != 0 ? st.st_ctim.tv_sec : std::time(nullptr);
    now.changed_at = std::max(now.changed_at, at);
    if (is_part) now.versions.push_back(std::move(version));
  };
  look(file, true);
  if (include.empty()) return now;
  const Result<std::vector<std::string>> included = included_paths(file, include);
  if (!included) return now;
  for (const std::string& path : *included) look(path, true);
  // The directory tells when a file was taken away.
  if (!included->empty())
    look(included->front().substr(0, included->front().rfind('/')), false);
  return now;
}

std::string ago(std::int64_t then) {
  const std::int64_t seconds = std::max<std::int64_t>(std::time(nullptr) - then, 0);
  if (seconds < 120) return fmt::format("{} s ago", seconds);
  if (seconds < 7'200) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 172'800) return fmt::format("{} h ago", seconds / 3'600);
  return fmt::format("{} days ago", seconds / 86'400);
}

void log_outcome(const ReloadOutcome& outcome, const Config& config) {
  for (const ReloadOutcome::Key& one : outcome.needs_restart) {
    const std::string& subject = one.dataset.empty() ? outcome.file : one.dataset;
    log_line(LogLevel::kWarn, "needs_restart", {{"subject", subject}, {"key", one.key}});
  }
  if (outcome.error) {
    log_line(LogLevel::kError, "reload_failed",
             {{"error", outcome.error->context}, {"hint", outcome.error->hint}});
    return;
  }
  log_line(LogLevel::kInfo, "reloaded",
           {{"file", outcome.file},
            {"datasets", std::to_string(outcome.datasets)},
            {"capacity_bytes", std::to_string(config.capacity_bytes.get())},
            {"max_files", std::to_string(config.max_files.get())},
            {"keep_free", config.keep_free_percent != 0
                              ? std::to_string(config.keep_free_percent.get()) + "%"
                              : std::to_string(config.keep_free_bytes.get())}});
}

}  // namespace

std::string ReloadOutcome::json() const {
  Json said = {{"file", file}, {"error", nullptr}};
  if (error) said["error"] = {{"reason", error->context}, {"hint", error->hint}};
  said.update({{"datasets", datasets},
               {"added", added},
               {"removed", removed},
               {"changed", keys_json(changed)},
               {"needs_restart", keys_json(needs_restart)}});
  return said.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Reload::Reload(Config& config, Store& store, Publisher& publisher, Service& service,
               UserDatasets& user_datasets, std::string log_file)
    : config_(config),
      store_(store),
      publisher_(publisher),
      service_(service),
      user_datasets_(user_datasets),
      log_file_(std::move(log_file)),
      loaded_(config),
      in_force_(config.sources),
      tried_(config.sources),
      include_(config.include) {
  state_.loaded_at = std::time(nullptr);
  service.reload_by(*this);
}

void Reload::post(Answer answer) {
  queue_.post([this, answer = std::move(answer)] {
    notify_reloading();
    outcome_ = {};
    outcome_.file = config_.file;
    if (!despite_shortage([this] { run(); })) {
      fail({ENOMEM, config_.file + ": the system refuses memory or a thread", {}});
    }
    notify_service_manager("READY=1");
    if (answer) answer(outcome_);
  });
}

ConfigurationState Reload::state() const {
  std::unique_lock lock(mutex_);
  ConfigurationState state = state_;
  const std::vector<FileVersion> in_force = in_force_, tried = tried_;
  const std::string include = include_;
  lock.unlock();
  const std::string subject = "configuration " + config_.file;
  if (state.failed) {
    const Error& error = *state.failed->error;
    state.problems.push_back(fmt::format("{}: the reload {} failed: {}{}{}", subject,
                                         ago(state.failed->ended_at), error.context,
                                         error.hint.empty() ? "" : "; ", error.hint));
  }
  const FilesNow now = look_at_files(config_.file, include);
  if (now.versions == in_force || now.versions == tried) return state;
  state.changed_at = now.changed_at;
  state.problems.push_back(
      fmt::format("{}: changed {}, not loaded: zazenctl reload", subject, ago(now.changed_at)));
  return state;
}

void Reload::fail(const Error& error) {
  if (outcome_.error) {
    outcome_.error->context += "; " + error.context;
  } else {
    outcome_.error = error;
  }
}

// After logrotate has given the file another name.
void Reload::reopen_log() {
  if (log_file_.empty()) return;
  const UniqueFd log = open_log(log_file_);
  if (!log.valid()) return fail(last_error("log " + log_file_ + ": " + std::strerror(errno)));
  ::dup2(log.get(), STDERR_FILENO);
  service_.write_log_to(log);
}

void Reload::run() {
  reopen_log();
  const FilesNow read = look_at_files(config_.file, include_);
  Result<Config> next = load();
  if (next.ok()) {
    note_changes(*next);
    apply(*next);
    loaded_ = *next;
  } else {
    fail(next.error());
  }
  outcome_.datasets = static_cast<std::size_t>(
      std::ranges::count_if(config_.datasets, [](const auto& one) { return !one.removed; }));
  outcome_.ended_at = std::time(nullptr);
  log_outcome(outcome_, config_);
  std::lock_guard lock(mutex_);
  if (next.ok()) {
    state_.loaded_at = outcome_.ended_at;
    in_force_ = next->sources;
    include_ = next->include;
  }
  tried_ = next.ok() ? next->sources : read.versions;
  state_.failed.reset();
  if (outcome_.error) state_.failed = outcome_;
}

// What changed since the file was last read, and which of its keys are not in force.
void Reload::note_changes(const Config& next) {
  std::string dataset;
  const auto note_changed = [&](Takes takes, const char* key, const auto& a, const auto& b) {
    if (takes == Takes::kEffect && a != b) outcome_.changed.push_back({dataset, key});
  };
  const auto note_not_in_force = [&](Takes takes, const char* key, const auto& a,
                                     const auto& b) {
    if (takes == Takes::kAtStart && a != b) outcome_.needs_restart.push_back({dataset, key});
  };
  visit_keys(loaded_, next, note_changed);
  visit_keys(config_, next, note_not_in_force);
  for (const DatasetConfig& before : loaded_.datasets) {
    const DatasetConfig* now = next.dataset_at(before.path);
    if (now == nullptr) outcome_.removed.push_back(before.path);
    dataset = before.path;
    if (now != nullptr) visit_keys(before, *now, note_changed);
  }
  for (const DatasetConfig& now : next.datasets) {
    if (loaded_.dataset_at(now.path) == nullptr) outcome_.added.push_back(now.path);
    dataset = now.path;
    const DatasetConfig* in_force = config_.dataset_at(now.path);
    if (in_force != nullptr) visit_keys(*in_force, now, note_not_in_force);
  }
}

Result<Config> Reload::load() {
  const FollowLinks follow = std::bind_front(&Service::follow_links, &service_);
  Result<Config> next = load_config(config_.file, follow);
  if (!next) return next;
  add_datasets_of_users(user_datasets_, follow, &*next);
  add_datasets_of_patterns(expand(next->patterns), &config_, follow, &*next);
  return next;
}

// Workers and programs learn of it.
void Reload::publish() {
  loaded_.datasets = served_part(config_).datasets;
  service_.renew_datasets();
  if (Status published = publisher_.republish(config_); !published) {
    log_line(LogLevel::kError, "table_not_published", {{"error", published.error().context}});
  }
}

void Reload::look_for_directories() {
  if (config_.patterns.empty()) return;
  std::vector<ExpandedPath> expanded = expand(config_.patterns);
  bool any = false;
  for (ExpandedPath& each : expanded) {
    std::erase_if(each.paths, [this](const std::string& path) {
      const DatasetConfig* known = config_.dataset_at(path);
      return known != nullptr && !known->removed;
    });
    any = any || !each.paths.empty();
  }
  if (!any || stopping_) return;
  Config next = served_part(config_);
  const std::size_t before = next.datasets.size();
  add_datasets_of_patterns(expanded, nullptr,
                           std::bind_front(&Service::follow_links, &service_), &next);
  bool is_changed = false;
  for (std::size_t i = before; i < next.datasets.size(); ++i) {
    const std::string& path = next.datasets[i].path;
    if (!update(next.datasets[i])) continue;
    const DatasetConfig* known = config_.dataset_at(path);
    if (known == nullptr || known->removed) continue;
    is_changed = true;
    log_line(LogLevel::kInfo, "directory_found", {{"dataset", path}});
  }
  if (is_changed) publish();
}

void Reload::post_look_for_directories() {
  if (has_look_.exchange(true)) return;
  const bool is_posted = queue_.post([this] {
    has_look_ = false;
    despite_shortage([this] { look_for_directories(); });
  });
  if (!is_posted) has_look_ = false;
}

void Reload::stop() {
  stopping_ = true;
  queue_.stop();
}

std::vector<ExpandedPath> Reload::expand(const std::vector<DatasetConfig>& patterns) {
  std::vector<std::string> paths;
  for (const DatasetConfig& pattern : patterns) paths.push_back(pattern.path);
  return service_.expand_paths(paths, [this] { return !stopping_; });
}

void Reload::post(const AddDataset& wanted, uid_t uid, std::function<void(int)> answer) {
  const bool is_own = uid == ::geteuid();
  if (!wanted.takes_away && !is_own && !config_.takes_datasets_of_users()) return answer(EPERM);
  if (!is_own && !may_wait(uid)) return answer(EAGAIN);
  auto change = [this, wanted, uid, answer] {
    int status = ENOMEM;
    despite_shortage([&] { status = change_user_dataset(wanted, uid); });
    std::unique_lock lock(mutex_);
    if (const auto found = waiting_.find(uid);
        found != waiting_.end() && --found->second == 0) {
      waiting_.erase(found);
    }
    lock.unlock();
    answer(status);
  };
  if (!queue_.post(change)) answer(EAGAIN);
}

// No user fills the queue for the others, or for the operator's reload.
bool Reload::may_wait(uid_t uid) {
  std::lock_guard lock(mutex_);
  std::size_t& waiting = waiting_[uid];
  if (waiting >= kMostWaiting) return false;
  ++waiting;
  return true;
}

int Reload::change_user_dataset(const AddDataset& wanted, uid_t uid) {
  constexpr std::int64_t kMinuteMs = 60'000;
  if (const std::int64_t now = monotonic_ms() / kMinuteMs; now != minute_) {
    minute_ = now;
    changes_.clear();
  }
  if (++changes_[uid] > UserDatasets::kMostChanges && uid != ::geteuid()) return EAGAIN;
  const int code = wanted.takes_away ? take_user_dataset_away(wanted.path, uid)
                                     : add_user_dataset(wanted, uid);
  log_line(code == 0 ? LogLevel::kInfo : LogLevel::kWarn,
           wanted.takes_away ? "user_dataset_taken_away" : "user_dataset_added",
           {{"dataset", wanted.path},
            {"frames", wanted.frames},
            {"uid", std::to_string(uid)},
            {"status", code == 0 ? "done" : std::strerror(code)}});
  return code;
}

int Reload::add_user_dataset(const AddDataset& wanted, uid_t uid) {
  if (!config_.takes_datasets_of_users() && uid != ::geteuid()) return EPERM;
  DatasetConfig dataset;
  dataset.path = wanted.path;
  dataset.frames = wanted.frames;
  dataset.added_by = uid;
  const char* why = "";
  if (!describe_bad_path(wanted.path).empty() || !is_printable_utf8(wanted.frames) ||
      !FrameName::parse(wanted.frames.data(), wanted.frames.size(), &dataset.name, &why)) {
    return EINVAL;
  }
  const auto known = std::ranges::find(config_.datasets, dataset.path, &DatasetConfig::path);
  const bool is_known = known != config_.datasets.end();
  if (is_known && !known->removed) return known->frames == dataset.frames ? 0 : EEXIST;
  if (is_known && known->frames != dataset.frames) return EBUSY;
  if (!is_known && config_.datasets.size() == kMaxDatasets) return E2BIG;
  // Positions count, because a dataset that is taken away keeps its position.
  std::size_t of_user = 0, of_all = 0;
  for (const DatasetConfig& each : config_.datasets) {
    if (each.added_by == DatasetConfig::kNobody || each.path == dataset.path) continue;
    ++of_all;
    if (each.added_by == static_cast<std::int64_t>(uid)) ++of_user;
  }
  if (of_user >= UserDatasets::kMostOfUser) return EDQUOT;
  if (of_all >= UserDatasets::kMost) return E2BIG;
  Config next = served_part(config_);
  const auto follow = std::bind_front(&Service::follow_links, &service_);
  if (!join_datasets({dataset}, follow, &next).empty()) return EEXIST;
  if (const int code = user_datasets_.add(dataset); code != 0) return code;
  if (Status done = update(dataset); !done) {
    (void)user_datasets_.remove(dataset.path);
    return done.error().code;
  }
  publish();
  return 0;
}

int Reload::take_user_dataset_away(const std::string& path, uid_t uid) {
  const DatasetConfig* kept = user_datasets_.find(path);
  if (kept == nullptr) return ENOENT;
  const bool is_own = kept->added_by == static_cast<std::int64_t>(uid);
  if (!is_own && uid != 0 && uid != ::geteuid()) return EACCES;
  if (const int code = user_datasets_.remove(path); code != 0) return code;
  const auto known = std::ranges::find(config_.datasets, path, &DatasetConfig::path);
  if (known == config_.datasets.end() || known->added_by == DatasetConfig::kNobody) return 0;
  known->removed = true;
  publish();
  return 0;
}

void Reload::apply(const Config& next) {
  config_.capacity_bytes = next.capacity_bytes;
  config_.max_files = next.max_files;
  config_.keep_free_percent = next.keep_free_percent;
  config_.keep_free_bytes = next.keep_free_bytes;
  config_.native_share_percent = next.native_share_percent;
  config_.native_share_bytes = next.native_share_bytes;
  config_.has_peers = next.has_peers;
  config_.user_datasets = next.user_datasets;
  config_.patterns = next.patterns;

  for (DatasetConfig& dataset : config_.datasets) {
    if (next.dataset_at(dataset.path) == nullptr) dataset.removed = true;
  }
  for (const DatasetConfig& dataset : next.datasets) {
    if (Status updated = update(dataset); !updated.ok()) fail(updated.error());
  }
  renew_key(next);
  service_.renew(next);
  if (Status published = publisher_.republish(config_); !published.ok()) {
    return fail(published.error());
  }
  store_.keep_limits();
}

// The existence of a key decides who may push. That is checked once, at the start.
void Reload::renew_key(const Config& next) {
  if (!config_.listen.empty() && next.key_file.empty() != config_.key_file.empty()) {
    outcome_.needs_restart.push_back({"", "key_file"});
    return;
  }
  const Result<bool> renewed =
      service_.keys().read(next.key_file, std::chrono::milliseconds(next.key_grace_ms));
  if (!renewed) {
    Error error = renewed.error();
    error.context += "; the key of before stays in force";
    fail(error);
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
  if (known->frames != next.frames) return Done{};
  known->filter = next.filter;
  known->audit = next.audit;
  known->validate = next.validate;
  known->fill = next.fill;
  known->push = next.push;
  known->added_by = next.added_by;
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
