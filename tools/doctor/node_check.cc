#include "tools/doctor/node_check.h"

#include <fmt/core.h>
#include <sys/statvfs.h>
#include <time.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/config/cache_place.h"
#include "bodhi/config/template_check.h"
#include "bodhi/lean/system/raw_call.h"
#include "tools/support/read_order_words.h"
#include "tools/support/table_state.h"

namespace zazen {
namespace {

constexpr std::uint64_t kLowBytes = 1'000'000'000;
constexpr std::uint64_t kLowInodes = 10'000;
constexpr std::time_t kClockSlackSeconds = 2;
constexpr std::time_t kLongAgo = 1'700'000'000;  // 2023: no node's clock is right before it

int stat_error(const std::string& path, struct stat* st) {
  return static_cast<int>(-raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), st, 0));
}

// Applies the daemon's rules for its own directories (daemon/process/secure_directory.h). False
// if the directory does not exist or cannot be used.
bool check_directory(const std::string& about, const std::string& path, Findings& findings) {
  struct stat st;
  if (int error = stat_error(path, &st); error == ENOENT) {
    findings.warn(about, path + ": does not exist", "zazend makes it when it starts");
    return false;
  } else if (error != 0) {
    findings.fail(about, path + ": " + std::strerror(error),
                  "a daemon serves its own user only: use a configuration of your own");
    return false;
  }
  if (!S_ISDIR(st.st_mode)) {
    findings.fail(about, path + ": not a directory", "name another one in the configuration");
    return false;
  }
  if (st.st_uid != ::geteuid() && st.st_uid != 0) {
    findings.fail(about, path + ": another user's",
                  "a daemon serves its own user only: use a configuration of your own");
    return false;
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    findings.fail(about, path + ": others may write to it", "chmod go-w " + path);
    return false;
  }
  findings.ok(about, path + ": there, and safe from other users");
  return true;
}

// A poor place is reported even before the daemon has made the directory.
void check_place(const Config& config, Findings& findings) {
  const std::string why = describe_poor_place(config.cache);
  if (!why.empty()) findings.warn("disk", config.cache + ": " + why, kPoorPlaceHint);
}

void check_disk(const Config& config, Findings& findings) {
  struct statvfs disk;
  if (::statvfs(config.cache.c_str(), &disk) != 0) {
    findings.fail("disk", config.cache + ": " + std::strerror(errno), "is it mounted?");
    return;
  }
  std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t keep_free =
      config.keep_free(std::uint64_t{disk.f_blocks} * disk.f_frsize);
  std::string text = fmt::format("{}: {} free", config.cache, format_size(free_bytes));
  if (disk.f_files > 0) text += fmt::format(", {} inodes free", format_count(disk.f_favail));
  if ((disk.f_flag & ST_RDONLY) != 0) {
    findings.fail("disk", config.cache + ": mounted read-only", "remount it");
  } else if (free_bytes < std::max(keep_free, kLowBytes)) {
    findings.warn(
        "disk",
        text + (free_bytes < keep_free ? ": below keep_free, " + format_size(keep_free) : ""),
        "frames that a miss would bring are not cached: zazenctl evict, or more room");
  } else if (disk.f_files > 0 && disk.f_favail < kLowInodes) {
    findings.warn("disk", text, "each frame needs an inode: zazenctl evict makes room");
  } else {
    findings.ok("disk", text);
  }
}

std::string how_to_start(const Node& node) {
  return "zazenctl --config " + node.config.file + " start";
}

void check_table(const Node& node, const TableState& daemon, Findings& findings) {
  if (!daemon.serves()) {
    findings.fail("table", daemon.reason() + "; programs read from the origin",
                  "start it, or start it anew: " + how_to_start(node));
    return;
  }
  const Table& table = daemon.table();
  findings.ok("table", fmt::format("{}/{}: version {}, daemon {}, heartbeat {} ms ago",
                                   node.runtime, kTableFile, table.version, table.pid,
                                   monotonic_ms() - table.heartbeat_ms.load()));
  if (table.cache != node.config.cache) {
    findings.warn("table",
                  fmt::format("{}: its daemon's cache is {}, the configuration's is {}",
                              node.runtime, table.cache, node.config.cache),
                  "restart zazend if the configuration was changed while it ran");
  }
}

void check_status(const Config& config, const nlohmann::json& status, Findings& findings) {
  std::string version = status.at("version");
  if (version != ZAZEN_VERSION) {
    findings.warn("version", "zazend " + version + ", zazenctl " ZAZEN_VERSION,
                  "install the same version of both and restart zazend");
  } else {
    findings.ok("version", "zazend and zazenctl " + version);
  }
  for (const std::string problem : status.at("problems")) {
    findings.fail("daemon", "zazend says: " + problem, "zazenctl status shows more");
  }
  findings.ok("read order", read_order_words(status.at("read_order")));
  std::uint64_t used = status.at("used_bytes"), files = status.at("used_files");
  bool full = (config.capacity_bytes > 0 && used >= config.capacity_bytes / 100 * 99) ||
              (config.max_files > 0 && files >= config.max_files);
  if (full) {
    findings.warn("capacity",
                  fmt::format("the cache is full: {} in {} frames", format_size(used),
                              format_count(files)),
                  "frames that a miss would bring are not cached: raise capacity, or zazenctl "
                  "evict");
  }
}

void check_socket(const Node& node, Findings& findings) {
  Result<Client> client = Client::connect(node.runtime);
  Result<std::string> status = client ? client->status() : client.error();
  if (!status) {
    findings.fail("socket",
                  fmt::format("{}/{}: no answer: {}", node.runtime, kSocketFile,
                              std::strerror(status.error().code)),
                  "its log may say why; start it anew: " + how_to_start(node));
    return;
  }
  findings.ok("socket", fmt::format("{}/{}: the daemon answers", node.runtime, kSocketFile));
  try {
    check_status(node.config, nlohmann::json::parse(*status), findings);
  } catch (const nlohmann::json::exception& error) {
    findings.fail("daemon", std::string("its status is not understood: ") + error.what(),
                  "are zazend and zazenctl of the same version?");
  }
}

const TableDataset* published(const Table& table, const DatasetConfig& dataset) {
  for (std::uint32_t i = 0; i < table.dataset_count; ++i) {
    const TableDataset& entry = table.datasets[i];
    if (entry.removed == 0 && entry.path == dataset.path && entry.frames == dataset.frames) {
      return &entry;
    }
  }
  return nullptr;
}

void check_dataset(const TableState& daemon, const DatasetConfig& dataset, Findings& findings) {
  struct stat st;
  int error = stat_error(dataset.path, &st);
  if (error == 0) {
    error = static_cast<int>(
        -raw_call(SYS_faccessat2, AT_FDCWD, dataset.path.c_str(), R_OK | X_OK, AT_EACCESS));
  }
  if (error == 0 && !S_ISDIR(st.st_mode)) error = ENOTDIR;
  if (error != 0) {
    findings.fail("dataset", dataset.path + ": " + std::strerror(error),
                  "is the file system mounted, and may you read it?");
    return;
  }
  const TableDataset* served = daemon.serves() ? published(daemon.table(), dataset) : nullptr;
  if (daemon.serves() && served == nullptr) {
    findings.warn(
        "dataset",
        fmt::format("{} ({}): the daemon does not serve it", dataset.path, dataset.frames),
        "have zazend read the changed configuration: zazenctl reload");
    return;
  }
  if (served != nullptr && served->also != dataset.also) {
    findings.warn("dataset", dataset.path + ": the daemon does not know the changed also",
                  "restart zazend");
    return;
  }
  if (std::string mismatch = describe_mismatch(dataset); !mismatch.empty()) {
    findings.warn("dataset", dataset.path + ": " + mismatch, kMismatchHint);
    return;
  }
  findings.ok("dataset", fmt::format("{} ({}): can be listed", dataset.path, dataset.frames));
}

// The times of the origin and this node's clock decide whether a copy is young.
void check_clock(const Config& config, Findings& findings) {
  std::time_t now = ::time(nullptr);
  if (now < kLongAgo) {
    findings.fail("clock", "it is years behind", "set it, for instance by chrony");
    return;
  }
  for (const DatasetConfig& dataset : config.datasets) {
    struct stat st;
    if (stat_error(dataset.path, &st) != 0 || st.st_mtime <= now + kClockSlackSeconds) continue;
    findings.warn(
        "clock",
        fmt::format("{} was changed {} s in the future", dataset.path, st.st_mtime - now),
        "the clocks of this node and of the file server differ: fresh frames are "
        "checked at each open, or too late");
    return;
  }
  findings.ok("clock", "not behind the datasets' directories");
}

}  // namespace

void check_node(const Node& node, Findings& findings) {
  findings.ok("configuration",
              fmt::format("{}: {} dataset{}", node.config.file, node.config.datasets.size(),
                          node.config.datasets.size() == 1 ? "" : "s"));
  bool has_runtime = check_directory("runtime", node.runtime, findings);
  check_place(node.config, findings);
  if (check_directory("cache", node.config.cache, findings)) check_disk(node.config, findings);
  TableState daemon(node.runtime);
  check_table(node, daemon, findings);
  if (has_runtime) check_socket(node, findings);
  for (const DatasetConfig& dataset : node.config.datasets) {
    check_dataset(daemon, dataset, findings);
  }
  check_clock(node.config, findings);
}

}  // namespace zazen
