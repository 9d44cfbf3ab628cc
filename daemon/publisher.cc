#include "daemon/publisher.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "daemon/mapped_file.h"
#include "daemon/start_error.h"

namespace zazen {
namespace {

bool copy_text(const std::string& text, char* out, std::size_t capacity) {
  if (text.size() >= capacity) return false;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return true;
}

// A daemon that was killed could not say that it stopped: programs that still map its table
// learn it from us, and look for the new one.
void retire_old_table(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat st = {};
  if (!file.valid() || ::fstat(file.get(), &st) != 0 ||
      st.st_size < static_cast<off_t>(sizeof(Table))) {
    return;
  }
  std::size_t size = static_cast<std::size_t>(st.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return;
  Table* table = static_cast<Table*>(memory);
  if (table_is_valid(table, size)) table->state = DaemonState::kStopped;
  ::munmap(memory, size);
}

Status describe(const Config& config, const NodeId& node, dev_t cache_dev,
                std::uint64_t instance, Table* table) {
  table->magic = kTableMagic;
  table->version = kTableVersion;
  table->dataset_count = static_cast<std::uint32_t>(config.datasets.size());
  table->file_size = table_size(table->dataset_count);
  table->node_id = node;
  table->cache_dev = cache_dev;
  table->instance = instance;
  table->pid = ::getpid();
  bool fits = copy_text(config.node, table->node_name, sizeof table->node_name) &&
              copy_text(config.cache, table->cache, sizeof table->cache);
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    const DatasetConfig& from = config.datasets[i];
    TableDataset& to = table->datasets[i];
    fits = fits && copy_text(from.path, to.path, sizeof to.path) &&
           copy_text(from.frames, to.frames, sizeof to.frames);
    to.filter = from.filter ? 1 : 0;
    to.validate = from.validate;
    to.fill = from.fill;
  }
  if (!fits || !table_is_valid(table, table->file_size)) {
    return Error{ENAMETOOLONG, "the configuration does not fit into the published table", {}};
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<Publisher>> Publisher::publish(const Config& config, const NodeId& node,
                                                      dev_t cache_dev, std::uint64_t instance) {
  if (config.datasets.size() > kMaxDatasets) {
    return Error{E2BIG, "more than " + std::to_string(kMaxDatasets) + " datasets", {}};
  }
  std::unique_ptr<Publisher> publisher(new Publisher);
  publisher->runtime_ = config.runtime + "/";
  std::string subject = "runtime directory " + config.runtime;
  std::string counters_path = publisher->runtime_ + kCountersFile;
  std::string table_path = publisher->runtime_ + kTableFile;

  UniqueFd counters_file;
  void* memory = make_mapped_file(counters_path + ".new", sizeof(Counters), &counters_file);
  if (memory == nullptr) return failed_call(subject + ": cannot make the counters");
  publisher->counters_ = static_cast<Counters*>(memory);
  publisher->counters_->magic = kTableMagic;

  std::size_t size = table_size(static_cast<std::uint32_t>(config.datasets.size()));
  memory = make_mapped_file(table_path + ".new", size, &publisher->file_);
  if (memory == nullptr) return failed_call(subject + ": cannot make the table");
  publisher->table_ = static_cast<Table*>(memory);
  if (Status done = describe(config, node, cache_dev, instance, publisher->table_);
      !done.ok()) {
    return done.error();
  }
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(publisher->file_.get(), F_OFD_SETLK, &lock) != 0) {
    return failed_call(subject + ": cannot lock the table");
  }
  // Not before it is locked: who can read it could lock it, too.
  if (config.all_users && ::fchmod(publisher->file_.get(), 0644) != 0) {
    return failed_call(subject + ": cannot publish the table");
  }
  if (config.all_users) {
    Result<std::unique_ptr<UserCounters>> users = UserCounters::make(config.runtime);
    if (!users.ok()) return users.error();
    publisher->user_counters_ = std::move(*users);
  }
  retire_old_table(table_path);
  if (std::rename((counters_path + ".new").c_str(), counters_path.c_str()) != 0 ||
      std::rename((table_path + ".new").c_str(), table_path.c_str()) != 0) {
    return failed_call(subject + ": cannot publish the table");
  }
  return publisher;
}

Publisher::~Publisher() {
  withdraw();
  if (table_ != nullptr) ::munmap(table_, table_->file_size);
  if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
}

void Publisher::serve() {
  table_->heartbeat_ms = monotonic_ms();
  table_->state = DaemonState::kServing;
  heart_ = std::thread([this] { beat(); });
}

void Publisher::beat() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::milliseconds(kHeartbeatPeriodMs),
                            [this] { return stopping_; })) {
    table_->heartbeat_ms = monotonic_ms();
  }
}

void Publisher::withdraw() {
  if (withdrawn_ || table_ == nullptr) return;
  withdrawn_ = true;
  table_->state = DaemonState::kStopped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (heart_.joinable()) heart_.join();
  ::unlink((runtime_ + kCountersFile).c_str());
}

Publisher::Uses Publisher::uses(std::uint32_t dataset) const {
  const DatasetCounters& counters = counters_->datasets[dataset];
  UserCounters::Sum others;
  if (user_counters_ != nullptr) others = user_counters_->sum(dataset);
  return {counters.hits.load(std::memory_order_relaxed) + others.hits,
          counters.misses.load(std::memory_order_relaxed) + others.misses};
}

void Publisher::note_user(uid_t uid) {
  if (user_counters_ != nullptr && uid != ::geteuid()) user_counters_->add_user(uid);
}

void Publisher::note_sample(std::uint32_t dataset, bool found_stale) {
  TableDataset& entry = table_->datasets[dataset];
  if (found_stale) entry.check_each_open = 1;
  entry.sampled_at_ms = monotonic_ms();
}

void Publisher::note_young(std::uint32_t dataset, std::uint32_t copies) {
  table_->datasets[dataset].young_copies = copies;
}

}  // namespace zazen
