#include "daemon/service/publisher.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "daemon/process/mapped_file.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

bool copy_text(const std::string& text, char* out, std::size_t capacity) {
  if (text.size() >= capacity) return false;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return true;
}

// Unlike monotonic_ms(), this clock goes on while the machine sleeps.
std::int64_t awake_or_asleep_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// A killed daemon could not say that it stopped. This daemon says it in the old table, so that
// programs that still map that table look for the new one.
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
  struct stat cache = {};
  if (::stat(config.cache.c_str(), &cache) == 0) table->cache_ino = cache.st_ino;
  table->instance = instance;
  table->has_peers = config.has_peers ? 1 : 0;
  table->pid = ::getpid();
  bool fits = copy_text(config.node, table->node_name, sizeof table->node_name) &&
              copy_text(config.cache, table->cache, sizeof table->cache);
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    const DatasetConfig& from = config.datasets[i];
    TableDataset& to = table->datasets[i];
    fits = fits && copy_text(from.path, to.path, sizeof to.path) &&
           copy_text(from.frames, to.frames, sizeof to.frames) &&
           copy_text(from.also, to.also, sizeof to.also);
    to.removed = from.removed ? 1 : 0;
    to.filter = from.removed ? FilterMode::kOff : from.filter.get();
    to.audit = from.audit;
    to.validate = from.validate;
    to.fill = from.fill;
    to.push = from.push ? 1 : 0;
  }
  if (!fits || !table_is_valid(table, table->file_size)) {
    return Error{ENAMETOOLONG, "the configuration does not fit into the published table", {}};
  }
  return Done{};
}

constexpr std::size_t kSupersededKept = 8;

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

  if (Status made =
          publisher->make_table(config, node, cache_dev, instance, &publisher->current_);
      !made.ok()) {
    return made.error();
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

// Makes the table complete and locked, not yet under its name.
Status Publisher::make_table(const Config& config, const NodeId& node, dev_t cache_dev,
                             std::uint64_t instance, Published* out) const {
  std::string subject = "runtime directory " + config.runtime;
  std::size_t size = table_size(static_cast<std::uint32_t>(config.datasets.size()));
  void* memory = make_mapped_file(runtime_ + kTableFile + ".new", size, &out->file);
  if (memory == nullptr) return failed_call(subject + ": cannot make the table");
  Status done = describe(config, node, cache_dev, instance, static_cast<Table*>(memory));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (done.ok() && ::fcntl(out->file.get(), F_OFD_SETLK, &lock) != 0) {
    done = failed_call(subject + ": cannot lock the table");
  }
  // The lock comes first: a user who can read the table could lock it, too.
  if (done.ok() && config.all_users && ::fchmod(out->file.get(), 0644) != 0) {
    done = failed_call(subject + ": cannot publish the table");
  }
  if (done.ok()) {
    out->table = static_cast<Table*>(memory);
  } else {
    ::munmap(memory, size);
  }
  return done;
}

Publisher::~Publisher() {
  withdraw();
  superseded_.push_back(std::move(current_));
  for (const Published& each : superseded_) unmap(each);
  if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
}

void Publisher::unmap(const Published& published) const {
  if (published.table == nullptr) return;
  if (pending_ != nullptr) pending_->hide(published.table->pending);
  ::munmap(published.table, published.table->file_size);
}

void Publisher::show(PendingCopies& pending) {
  std::lock_guard lock(mutex_);
  pending_ = &pending;
  pending.show(current_.table->pending);
}

void Publisher::serve() {
  std::lock_guard lock(mutex_);
  current_.table->heartbeat_ms = monotonic_ms();
  last_beat_ms_ = awake_or_asleep_ms();
  serving_ = true;
  show_state();
}

void Publisher::beat(const std::function<void()>& on_gap) {
  if (awake_or_asleep_ms() - last_beat_ms_ >= kMissedBeatsMs) on_gap();
  last_beat_ms_ = awake_or_asleep_ms();
  std::lock_guard lock(mutex_);
  current_.table->heartbeat_ms = monotonic_ms();
}

Status Publisher::republish(const Config& config) {
  const Table& known = *current_.table;  // only this function changes current_
  Published next;
  if (Status made = make_table(config, known.node_id, known.cache_dev, known.instance, &next);
      !made.ok()) {
    return made;
  }
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < next.table->dataset_count; ++i) {
    TableDataset& entry = next.table->datasets[i];
    entry.doubts = doubts_[i];
    if (i >= known.dataset_count) continue;
    entry.sampled_at_ms = known.datasets[i].sampled_at_ms.load();
  }
  next.table->heartbeat_ms = monotonic_ms();
  next.table->state = state();
  next.table->orders_reads = orders_reads_ ? 1 : 0;
  if (pending_ != nullptr) pending_->show(next.table->pending);
  std::string path = runtime_ + kTableFile;
  if (std::rename((path + ".new").c_str(), path.c_str()) != 0) {
    Error error =
        failed_call("runtime directory " + config.runtime + ": cannot publish the table");
    unmap(next);
    return error;
  }
  current_.table->state = DaemonState::kSuperseded;
  superseded_.push_back(std::exchange(current_, std::move(next)));
  // A program that was in the middle of a call has seen a later table since.
  if (superseded_.size() > kSupersededKept) {
    unmap(superseded_.front());
    superseded_.erase(superseded_.begin());
  }
  return Done{};
}

void Publisher::order_reads(bool ordered) {
  std::lock_guard lock(mutex_);
  orders_reads_ = ordered;
  current_.table->orders_reads = ordered ? 1 : 0;
}

void Publisher::set_usable(bool usable) {
  std::lock_guard lock(mutex_);
  usable_ = usable;
  show_state();
}

DaemonState Publisher::state() const {
  if (stopping_) return DaemonState::kStopped;
  return usable_ ? DaemonState::kServing : DaemonState::kOutOfUse;
}

void Publisher::show_state() {
  if (serving_) current_.table->state = state();
}

void Publisher::withdraw() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || current_.table == nullptr) return;
    current_.table->state = DaemonState::kStopped;
    stopping_ = true;
  }
  ::unlink((runtime_ + kCountersFile).c_str());
}

Publisher::Uses Publisher::uses(std::uint32_t dataset) const {
  const DatasetCounters& counters = counters_->datasets[dataset];
  UserCounters::Sum others;
  if (user_counters_ != nullptr) others = user_counters_->sum(dataset);
  return {counters.hits.load(std::memory_order_relaxed) + others.hits,
          counters.misses.load(std::memory_order_relaxed) + others.misses};
}

CountedSince Publisher::count() {
  CountedSince counted;
  CounterValues now = {};
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
    now.datasets[i].hits = counters_->datasets[i].hits.load(std::memory_order_relaxed);
    now.datasets[i].misses = counters_->datasets[i].misses.load(std::memory_order_relaxed);
    now.untold_changes[i] = counters_->untold_changes[i].load(std::memory_order_relaxed);
  }
  counted.add(seen_, now, ::geteuid());
  seen_ = now;
  if (user_counters_ != nullptr) user_counters_->count(&counted);
  return counted;
}

void Publisher::note_user(uid_t uid, std::size_t most_users) {
  if (user_counters_ != nullptr && uid != ::geteuid())
    user_counters_->add_user(uid, most_users);
}

void Publisher::note_unread(uid_t uid) {
  if (uid == ::geteuid()) {
    counters_->news.reader = 0;
  } else if (user_counters_ != nullptr) {
    user_counters_->note_unread(uid);
  }
}

void Publisher::note_sample(std::uint32_t dataset) {
  std::lock_guard lock(mutex_);
  if (dataset < current_.table->dataset_count) {
    current_.table->datasets[dataset].sampled_at_ms = monotonic_ms();
  }
}

void Publisher::note_doubts(std::uint32_t dataset, std::uint32_t doubts) {
  std::lock_guard lock(mutex_);
  doubts_[dataset] = doubts;  // the table may not have a new dataset yet
  auto mark = [&](const Published& each) {
    if (dataset < each.table->dataset_count) each.table->datasets[dataset].doubts = doubts;
  };
  mark(current_);
  for (const Published& each : superseded_) mark(each);
}

}  // namespace zazen
