// The table's file is checked before it is trusted. A file of another user, a writable, short
// or damaged one, or one that a dead daemon left, is ignored.
#include "bodhi/lean/frames/table.h"

#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cstring>

#include "bodhi/lean/system/published_file.h"

namespace zazen {
namespace {

bool is_terminated(const char* text, std::size_t capacity) {
  return std::memchr(text, '\0', capacity) != nullptr;
}

// Terminated, absolute, and without a '/' at its end.
bool is_directory_path(const char* text, std::size_t capacity) {
  if (!is_terminated(text, capacity)) return false;
  std::size_t length = std::strlen(text);
  return length >= 2 && text[0] == '/' && text[length - 1] != '/';
}

bool dataset_is_valid(const TableDataset& dataset) {
  if (!is_directory_path(dataset.path, sizeof dataset.path)) return false;
  if (!is_terminated(dataset.frames, sizeof dataset.frames)) return false;
  if (!is_terminated(dataset.also, sizeof dataset.also)) return false;
  FrameName name;
  return names_of(dataset, &name) && dataset.filter <= FilterMode::kRequire &&
         dataset.audit <= AuditMode::kWarn && dataset.removed <= 1 && dataset.push <= 1 &&
         dataset.validate <= Validate::kNever && dataset.fill <= Fill::kWait;
}

// Tests for a write lock: any process that can read the table could hold a read lock.
bool is_locked(int fd) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return raw_call(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

// The daemon's own user shares one file with it; every other user has a file of its own.
int open_counters(const char* runtime, std::size_t* size) {
  int fd = open_published(runtime, kCountersFile, O_RDWR, size);
  if (fd >= 0) return fd;
  char name[sizeof kUserCountersDirectory + 32];
  ::snprintf(name, sizeof name, "%s/%lu", kUserCountersDirectory,
             static_cast<unsigned long>(raw_call(SYS_geteuid)));
  return open_published(runtime, name, O_RDWR, size);
}

const Table* map_current_table(const char* runtime, bool* is_held) {
  std::size_t size = 0;
  RawFd file(open_published(runtime, kTableFile, O_RDONLY, &size));
  if (!file.valid() || size < sizeof(Table) || size > table_size(kMaxDatasets)) return nullptr;
  bool held = is_locked(file.get());
  if (is_held != nullptr) *is_held = held;
  if (!held && is_held == nullptr) return nullptr;

  void* memory = map_published(file.get(), size, PROT_READ);
  if (memory == nullptr) return nullptr;
  const Table* table = static_cast<const Table*>(memory);
  if (!table_is_valid(table, size)) {
    raw_unmap(memory, size);
    return nullptr;
  }
  return table;
}

}  // namespace

std::size_t table_size(std::uint32_t dataset_count) {
  return sizeof(Table) + std::size_t{dataset_count} * sizeof(TableDataset);
}

std::int64_t monotonic_ms() {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

bool names_of(const TableDataset& dataset, FrameName* name) {
  const char* why;
  return FrameName::parse(dataset.frames, std::strlen(dataset.frames), name, &why) &&
         name->add_also(dataset.also, std::strlen(dataset.also), &why);
}

bool table_is_valid(const Table* table, std::size_t mapped_size) {
  if (mapped_size < sizeof(Table)) return false;
  if (table->magic != kTableMagic || table->version != kTableVersion) return false;
  if (table->dataset_count > kMaxDatasets) return false;
  if (table->file_size != table_size(table->dataset_count)) return false;
  if (table->file_size != mapped_size) return false;
  if (!is_terminated(table->node_name, sizeof table->node_name)) return false;
  if (!is_directory_path(table->cache, sizeof table->cache)) return false;
  if (table->state.load(std::memory_order_relaxed) > DaemonState::kOutOfUse) return false;
  if (table->orders_reads > 1) return false;
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    if (!dataset_is_valid(table->datasets[i])) return false;
  }
  return true;
}

bool daemon_is_alive(const Table& table, std::int64_t now_ms) {
  return table.state.load(std::memory_order_relaxed) == DaemonState::kServing &&
         table.heartbeat_ms.load(std::memory_order_relaxed) > now_ms - kHeartbeatStaleMs;
}

const Table* map_table(const char* runtime, bool* is_held) {
  // A reload may have replaced the file while it was being mapped.
  constexpr int kTries = 8;
  const Table* table = map_current_table(runtime, is_held);
  for (int i = 1; i < kTries && table != nullptr && is_superseded(*table); ++i) {
    unmap_table(table);
    table = map_current_table(runtime, is_held);
  }
  return table;
}

void unmap_table(const Table* table) {
  if (table != nullptr) raw_unmap(table, table->file_size);
}

std::uint32_t other_table_version(const char* runtime) {
  struct {
    std::uint64_t magic;
    std::uint32_t version;
  } head = {};
  static_assert(offsetof(Table, version) == sizeof head.magic);
  std::size_t size = 0;
  RawFd file(open_published(runtime, kTableFile, O_RDONLY, &size));
  if (!file.valid() || size < sizeof head) return 0;
  raw_read_at(file.get(), reinterpret_cast<char*>(&head), sizeof head, 0);
  const bool is_other = head.magic == kTableMagic && head.version != kTableVersion;
  return is_other && is_locked(file.get()) ? head.version : 0;
}

Counters* map_counters(const char* runtime) {
  std::size_t size = 0;
  RawFd file(open_counters(runtime, &size));
  if (!file.valid() || size < sizeof(Counters)) return nullptr;
  void* memory = map_published(file.get(), sizeof(Counters), PROT_READ | PROT_WRITE);
  if (memory == nullptr) return nullptr;
  Counters* counters = static_cast<Counters*>(memory);
  if (counters->magic != kTableMagic) {
    raw_unmap(memory, sizeof(Counters));
    return nullptr;
  }
  return counters;
}

std::size_t copy_path(const Table& table, const TableDataset& dataset, const char* name,
                      char* out, std::size_t capacity) {
  std::size_t cache = std::strlen(table.cache);
  std::size_t path = std::strlen(dataset.path);
  std::size_t rest = std::strlen(name);
  std::size_t length = cache + path + 1 + rest;
  if (length + 1 > capacity) return 0;
  std::memcpy(out, table.cache, cache);
  std::memcpy(out + cache, dataset.path, path);
  out[cache + path] = '/';
  std::memcpy(out + cache + path + 1, name, rest + 1);
  return length;
}

}  // namespace zazen
