#include "preload/process/node.h"

#include <sys/mman.h>

#include <cstring>

#include "bodhi/lean/system/signals_off.h"
#include "preload/calls/cancellation.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/current_view.h"
#include "preload/process/log.h"

namespace zazen {

constinit std::atomic<Node*> mapped_node{nullptr};

namespace {

constexpr std::int64_t kRetryMs = 1000;

constinit std::atomic<Node*> abandoned{nullptr};  // a table that was found without a daemon
constinit std::atomic<std::int64_t> retry_at_ms{0};

ZAZEN_SELDOM_USED constinit Counters unread_counters{};

constexpr std::size_t kMaxCopies = 2 * kMaxPath;  // "<cache><dataset>/"

std::size_t node_size(std::uint32_t room) {
  return sizeof(Node) + room * (sizeof(DatasetMatcher) + kMaxCopies);
}

// The lock for changes of what is mapped. It is held briefly and with signals blocked, so a
// thread that waits for it never waits for itself.
class MappingLock {
 public:
  MappingLock() : pid_(static_cast<int>(raw_call(SYS_getpid))) {
    constexpr int kTries = 10'000;
    for (int i = 0; i < kTries && !is_mine_; ++i) {
      int owner = 0;
      is_mine_ = owner_.compare_exchange_strong(owner, pid_) ||
                 // It was a thread of the process that forked us, and is not here.
                 (owner != pid_ && owner_.compare_exchange_strong(owner, pid_));
      if (!is_mine_) raw_call(SYS_sched_yield);
    }
  }
  ~MappingLock() {
    if (is_mine_) owner_.store(0, std::memory_order_release);
  }
  MappingLock(const MappingLock&) = delete;
  MappingLock& operator=(const MappingLock&) = delete;

  bool is_mine() const { return is_mine_; }

 private:
  static constinit std::atomic<int> owner_;
  SignalsOff no_signals_;
  const int pid_;
  bool is_mine_ = false;
};
constinit std::atomic<int> MappingLock::owner_{0};

constinit std::atomic<Node*> all_nodes{nullptr};  // the latest first; changed under the lock

// Moves the mapping at `from` over the one at `to`, for all threads at once.
bool move_mapping(const void* from, std::size_t size, const void* to) {
  return raw_call(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
         static_cast<long>(reinterpret_cast<std::uintptr_t>(to));
}

// Keeps the process's trust in a dataset's copies for the next table of the same daemon.
void keep_trust(const Node& old, Node* fresh) {
  if (old.table->instance != fresh->table->instance) return;
  for (std::uint32_t i = 0; i < old.table->dataset_count; ++i) {
    if (i >= fresh->table->dataset_count) return;
    fresh->matchers[i].trust.take_over(old.matchers[i].trust);
  }
}

// `dataset` may be in another table than the node's for a moment.
void add_matcher(Node* node, std::uint32_t i, const TableDataset& dataset, const Table& table) {
  DatasetMatcher& matcher = node->matchers[i];
  if (!make_matcher(dataset.path, dataset.frames, &matcher) ||
      !names_of(dataset, &matcher.name)) {
    matcher.path_length = 0;
  }
  matcher.path = node->table->datasets[i].path;
  char* copies = reinterpret_cast<char*>(&node->matchers[node->room]) + i * kMaxCopies;
  matcher.copies = copies;
  matcher.copies_length =
      static_cast<std::uint32_t>(copy_path(table, dataset, "", copies, kMaxCopies));
}

// Allocates room for kMaxDatasets, unless this is the first table of the process.
Node* compile(const Table* table, bool is_first) {
  std::uint32_t room = is_first ? table->dataset_count : std::uint32_t{kMaxDatasets};
  void* memory =
      raw_map(node_size(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (memory == nullptr) return nullptr;
  Node* node = static_cast<Node*>(memory);
  node->table = table;
  node->room = room;
  if (!is_first) {
    void* place = raw_map(table_size(room), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (place == nullptr || !move_mapping(table, table->file_size, place)) {
      if (place != nullptr) raw_unmap(place, table_size(room));
      raw_unmap(memory, node_size(room));
      return nullptr;
    }
    node->table = static_cast<const Table*>(place);
  }
  for (std::uint32_t i = 0; i < node->table->dataset_count; ++i) {
    add_matcher(node, i, node->table->datasets[i], *node->table);
  }
  return node;
}

// Every dataset of the old table is in the fresh one under the same number.
bool continues(const Table& old, const Table& fresh) {
  if (std::strcmp(old.cache, fresh.cache) != 0 || old.dataset_count > fresh.dataset_count) {
    return false;
  }
  for (std::uint32_t i = 0; i < old.dataset_count; ++i) {
    if (std::strcmp(old.datasets[i].path, fresh.datasets[i].path) != 0 ||
        std::strcmp(old.datasets[i].frames, fresh.datasets[i].frames) != 0 ||
        std::strcmp(old.datasets[i].also, fresh.datasets[i].also) != 0) {
      return false;
    }
  }
  return true;
}

// Makes the table the node's. False if that is not possible; the table is then still mapped.
bool renew(Node* node, const Table* table) {
  const Table& old = *node->table;
  if (table->dataset_count > node->room || !continues(old, *table)) return false;
  const bool is_another_daemon = old.instance != table->instance;
  for (std::uint32_t i = old.dataset_count; i < table->dataset_count; ++i) {
    add_matcher(node, i, table->datasets[i], *table);
  }
  if (!move_mapping(table, table->file_size, node->table)) return false;
  for (std::uint32_t i = 0; is_another_daemon && i < node->table->dataset_count; ++i) {
    node->matchers[i].trust.looked_at_ms.store(0, std::memory_order_relaxed);
    node->matchers[i].trust.distrusted.store(false, std::memory_order_relaxed);
  }
  if (Counters* counters = is_another_daemon ? node->counters.exchange(nullptr) : nullptr) {
    node->counters_place.store(counters, std::memory_order_release);
  }
  node->counters_due_ms.store(0, std::memory_order_relaxed);
  node->index_due_ms.store(0, std::memory_order_relaxed);
  node->successor_is_missing.store(false, std::memory_order_relaxed);
  return true;
}

// A node for this table, renewed or made; null if there is no memory. A node with the same
// datasets is preferred: so two configurations that alternate have one node each.
Node* node_for(const Table* table, bool serves, Node* current) {
  for (Node* node = all_nodes.load(std::memory_order_relaxed); node != nullptr;
       node = node->next) {
    bool is_free = serves || node != current;
    bool is_as_long = node->table->dataset_count == table->dataset_count;
    if (is_free && is_as_long && renew(node, table)) return node;
  }
  if (serves && current != nullptr && renew(current, table)) return current;
  Node* fresh = compile(table, current == nullptr);
  if (fresh == nullptr) return nullptr;
  if (current != nullptr) keep_trust(*current, fresh);
  fresh->next = all_nodes.load(std::memory_order_relaxed);
  all_nodes.store(fresh, std::memory_order_relaxed);
  return fresh;
}

// Uses the present table, or unmaps it again.
Node* install_table(const Table* table, bool serves, std::int64_t now_ms) {
  MappingLock lock;
  Node* current = mapped_node.load(std::memory_order_acquire);
  bool is_late = current != nullptr && daemon_is_alive(*current->table, now_ms);
  Node* node = lock.is_mine() && !is_late ? node_for(table, serves, current) : nullptr;
  if (node == nullptr) {
    unmap_table(table);
    return current;
  }
  for (std::uint32_t i = 0; serves && i < node->table->dataset_count; ++i) {
    path_prefilter.add(node->matchers[i].name);
    if (settings.run.number != 0) path_prefilter.add_directory(node->table->datasets[i].path);
  }
  log_line(LogLevel::kDebug, "table of node %s mapped", node->table->node_name);
  if (!serves) {
    abandoned.store(node, std::memory_order_release);
    return current;
  }
  // Opened while a descriptor is available: programs without one report changes here.
  counters_of(*node);
  mapped_node.store(node, std::memory_order_release);
  abandoned.store(nullptr, std::memory_order_release);  // the abandoned one is older
  path_prefilter.trust(&node->table->state);
  return node;
}

// A table without a daemon still tells where copies are, unless it is the known one.
Node* look_for_table(Node* old, std::int64_t now_ms) {
  ErrnoKeeper keep;
  CancellationOff no_cancellation;  // an asynchronous one would leak the file, or the mapping
  SignalsOff no_signals;            // and so would a handler that leaves by a jump
  bool is_held = false;
  const Table* table = map_table(settings.runtime, &is_held);
  if (table == nullptr) return old;
  bool serves = is_held && daemon_is_alive(*table, now_ms);
  auto is_known = [&](const Node* node) {
    return node != nullptr && node->table->instance == table->instance &&
           !is_superseded(*node->table);
  };
  if (serves || !(is_known(old) || is_known(abandoned.load(std::memory_order_acquire)))) {
    return install_table(table, serves, now_ms);
  }
  unmap_table(table);
  return old;
}

void unmap_index(const IdentityIndex* index) {
  if (index == nullptr) return;
  raw_unmap(index, index_size(index->slots_log2));
}

// An abandoned table is newer than the table of a daemon that served earlier.
const Node* abandoned_or(const Node* node) {
  const Node* left = abandoned.load(std::memory_order_acquire);
  return left != nullptr ? left : node;
}

// Passes on the counts that no daemon has read.
void move_counts(Counters& from, Counters& to, std::uint32_t datasets) {
  for (std::uint32_t i = 0; i < datasets; ++i) {
    to.datasets[i].hits += from.datasets[i].hits.exchange(0);
    to.datasets[i].misses += from.datasets[i].misses.exchange(0);
    to.untold_changes[i] += from.untold_changes[i].exchange(0);
  }
}

}  // namespace

const Node* current_node(bool* alive, std::int64_t now_ms) {
  Node* node = mapped_node.load(std::memory_order_acquire);
  *alive = node != nullptr && daemon_is_alive(*node->table, now_ms);
  if (*alive || settings.runtime[0] == '\0') [[likely]]
    return node;

  if (node != nullptr && is_superseded(*node->table) && !node->successor_is_missing) {
    Node* next = look_for_table(node, now_ms);
    *alive = daemon_is_alive(*next->table, now_ms);
    if (*alive) return next;
    node->successor_is_missing = true;
  }

  // All threads wait for the first look: a thread that did not wait could change frames without
  // dropping their copies.
  std::int64_t due_ms = retry_at_ms.load(std::memory_order_acquire);
  if (due_ms != 0 &&
      (now_ms < due_ms || !retry_at_ms.compare_exchange_strong(due_ms, now_ms + kRetryMs))) {
    return abandoned_or(node);
  }
  node = look_for_table(node, now_ms);
  if (due_ms == 0) retry_at_ms.store(now_ms + kRetryMs, std::memory_order_release);
  *alive = node != nullptr && daemon_is_alive(*node->table, now_ms);
  return *alive ? node : abandoned_or(node);
}

Counters& counters_of(const Node& node) {
  Counters* counters = node.counters.load(std::memory_order_acquire);
  if (counters != nullptr) [[likely]]
    return *counters;
  // A daemon for all users makes a user's counters at the first contact; until then the process
  // looks for them once a second.
  std::int64_t now_ms = monotonic_ms();
  if (now_ms < node.counters_due_ms.load(std::memory_order_relaxed)) return unread_counters;
  ErrnoKeeper keep;
  CancellationOff no_cancellation;
  SignalsOff no_signals;
  Counters* fresh = map_counters(settings.runtime);
  if (fresh == nullptr) {
    node.counters_due_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    return unread_counters;
  }
  Counters* place = node.counters_place.load(std::memory_order_acquire);
  if (place != nullptr && move_mapping(fresh, sizeof(Counters), place)) fresh = place;
  if (!node.counters.compare_exchange_strong(counters, fresh, std::memory_order_acq_rel)) {
    if (fresh != counters) raw_unmap(fresh, sizeof(Counters));
    return *counters;
  }
  move_counts(unread_counters, *fresh, node.table->dataset_count);
  return *fresh;
}

const IdentityIndex* index_of(const Node& node) {
  const IdentityIndex* index = node.index.load(std::memory_order_acquire);
  if (index != nullptr && index->instance == node.table->instance &&
      index->superseded.load(std::memory_order_acquire) == 0) [[likely]]
    return index;

  std::int64_t now_ms = monotonic_ms();
  std::int64_t due_ms = node.index_due_ms.load(std::memory_order_relaxed);
  if (now_ms < due_ms) return nullptr;
  CancellationOff no_cancellation;
  SignalsOff no_signals;
  const IdentityIndex* fresh = map_index(settings.runtime, node.table->instance);
  if (fresh == nullptr) {
    node.index_due_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    return nullptr;
  }
  // Another thread may be using the old index. The new one may replace it at the same address
  // if it has as many slots. Otherwise the old one stays mapped.
  if (index != nullptr && index->slots_log2 == fresh->slots_log2 &&
      move_mapping(fresh, index_size(fresh->slots_log2), index)) {
    return index;
  }
  if (!node.index.compare_exchange_strong(index, fresh, std::memory_order_acq_rel)) {
    unmap_index(fresh);
    return index;
  }
  return fresh;
}

void forget_lookups() {
  const Node* node = abandoned_or(mapped_node.load(std::memory_order_acquire));
  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    node->matchers[i].trust.directory.forget();
    node->matchers[i].trust.looked_at_ms.store(0, std::memory_order_relaxed);
  }
  const CurrentView* view = current_view();
  for (std::uint32_t i = 0; view != nullptr && i < view->view->dataset_count; ++i) {
    view->matchers[i].trust.directory.forget();
  }
}

}  // namespace zazen
