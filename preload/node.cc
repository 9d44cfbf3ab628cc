#include "preload/node.h"

#include <sys/mman.h>

#include "preload/cancellation.h"
#include "preload/current_view.h"
#include "preload/first_look.h"
#include "preload/hook.h"
#include "preload/log.h"
#include "preload/raw.h"

namespace zazen {

constinit std::atomic<Node*> mapped_node{nullptr};

namespace {
constinit const std::atomic<DaemonState> kNotActive{DaemonState::kServing};
}
constinit const std::atomic<DaemonState> kNobodyServes{DaemonState::kStopped};
constinit FirstLook first_look{&kNotActive};

namespace {

constexpr std::int64_t kRetryMs = 1000;

constinit std::atomic<Node*> orphan{nullptr};  // of a table that was found without a daemon
constinit std::atomic<std::int64_t> retry_at_ms{0};

ZAZEN_SELDOM_USED constinit Counters unheard{};

constexpr std::size_t kMaxCopies = 2 * kMaxPath;  // "<cache><dataset>/"

std::size_t node_size(const Table& table) {
  return sizeof(Node) + table.dataset_count * (sizeof(Place) + kMaxCopies);
}

// What the process has learnt of a dataset's copies holds for the next table of that daemon.
void take_over(const Node& old, Node* fresh) {
  if (old.table->instance != fresh->table->instance) return;
  for (std::uint32_t i = 0; i < old.table->dataset_count; ++i) {
    if (i >= fresh->table->dataset_count) return;
    const Place& from = old.places[i];
    fresh->places[i].looked_at_copies_ms = from.looked_at_copies_ms.load();
    fresh->places[i].distrusted = from.distrusted.load();
  }
}

Node* compile(const Table* table) {
  void* memory =
      raw_map(node_size(*table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (memory == nullptr) return nullptr;
  Node* node = static_cast<Node*>(memory);
  node->table = table;
  for (std::uint32_t i = 0; i < table->dataset_count; ++i) {
    const TableDataset& dataset = table->datasets[i];
    if (!make_place(dataset.path, dataset.frames, &node->places[i])) {
      node->places[i].path_length = 0;
    }
    char* copies =
        reinterpret_cast<char*>(&node->places[table->dataset_count]) + i * kMaxCopies;
    node->places[i].copies = copies;
    node->places[i].copies_length =
        static_cast<std::uint32_t>(copy_path(*table, dataset, "", copies, kMaxCopies));
  }
  return node;
}

void unmap_index(const IdentityIndex* index) {
  if (index == nullptr) return;
  raw_unmap(index, index_size(index->slots_log2));
}

void discard(Node* node) {
  unmap_index(node->index.load(std::memory_order_relaxed));
  raw_unmap(node, node_size(*node->table));
}

// A table that nobody holds tells at least where copies are, unless it is the one that is
// known.
Node* look_for_table(Node* old, std::int64_t now_ms) {
  ErrnoKeeper keep;
  CancellationOff no_cancellation;  // an asynchronous one would leak the file, or the mapping
  bool is_held = false;
  const Table* table = map_table(settings.runtime, &is_held);
  if (table == nullptr) return old;
  bool serves = is_held && daemon_is_alive(*table, now_ms);
  Node* known_orphan = orphan.load(std::memory_order_acquire);
  auto is_known = [&](const Node* node) {
    return node != nullptr && node->table->instance == table->instance &&
           !is_superseded(*node->table);
  };
  bool wanted = serves || !(is_known(old) || is_known(known_orphan));
  Node* fresh = wanted ? compile(table) : nullptr;
  if (fresh == nullptr) {
    unmap_table(table);
    return old;
  }
  if (old != nullptr) take_over(*old, fresh);
  for (std::uint32_t i = 0; serves && i < table->dataset_count; ++i) {
    first_look.add(fresh->places[i].name);
  }
  bool adopted =
      serves ? mapped_node.compare_exchange_strong(old, fresh, std::memory_order_acq_rel)
             : orphan.compare_exchange_strong(known_orphan, fresh);
  if (!adopted) {
    discard(fresh);
    unmap_table(table);
    return old;
  }
  if (serves) {
    orphan.store(nullptr, std::memory_order_release);  // it is the older one
    // Another thread may have adopted a newer one meanwhile.
    const Node* trusted;
    do {
      trusted = mapped_node.load(std::memory_order_acquire);
      first_look.trust(&trusted->table->state);
    } while (trusted != mapped_node.load(std::memory_order_acquire));
  }
  log_line(LogLevel::kDebug, "table of node %s mapped", table->node_name);
  return serves ? fresh : old;
}

// An orphan is newer than the table of a daemon that served once.
const Node* orphan_or(const Node* node) {
  const Node* left = orphan.load(std::memory_order_acquire);
  return left != nullptr ? left : node;
}

// What nobody has heard of yet is told.
void move_counts(Counters& from, Counters& to, std::uint32_t datasets) {
  for (std::uint32_t i = 0; i < datasets; ++i) {
    to.datasets[i].hits += from.datasets[i].hits.exchange(0);
    to.datasets[i].misses += from.datasets[i].misses.exchange(0);
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

  // The first look is everybody's: who came second and did not wait for it would change frames
  // whose copies nobody drops.
  std::int64_t due_ms = retry_at_ms.load(std::memory_order_acquire);
  if (due_ms != 0 &&
      (now_ms < due_ms || !retry_at_ms.compare_exchange_strong(due_ms, now_ms + kRetryMs))) {
    return orphan_or(node);
  }
  node = look_for_table(node, now_ms);
  if (due_ms == 0) retry_at_ms.store(now_ms + kRetryMs, std::memory_order_release);
  *alive = node != nullptr && daemon_is_alive(*node->table, now_ms);
  return *alive ? node : orphan_or(node);
}

Counters& counters_of(const Node& node) {
  Counters* counters = node.counters.load(std::memory_order_acquire);
  if (counters != nullptr) [[likely]]
    return *counters;
  // A daemon for all users makes a user's counters when it first meets him: until then they
  // are looked for once a second.
  std::int64_t now_ms = monotonic_ms();
  if (now_ms < node.counters_due_ms.load(std::memory_order_relaxed)) return unheard;
  ErrnoKeeper keep;
  CancellationOff no_cancellation;
  Counters* fresh = map_counters(settings.runtime);
  if (fresh == nullptr) {
    node.counters_due_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    return unheard;
  }
  if (!node.counters.compare_exchange_strong(counters, fresh, std::memory_order_acq_rel)) {
    raw_unmap(fresh, sizeof(Counters));
    return *counters;
  }
  move_counts(unheard, *fresh, node.table->dataset_count);
  return *fresh;
}

const IdentityIndex* index_of(const Node& node) {
  const IdentityIndex* index = node.index.load(std::memory_order_acquire);
  if (index != nullptr && index->superseded.load(std::memory_order_acquire) == 0) [[likely]]
    return index;

  std::int64_t now_ms = monotonic_ms();
  std::int64_t due_ms = node.index_due_ms.load(std::memory_order_relaxed);
  if (now_ms < due_ms) return nullptr;
  CancellationOff no_cancellation;
  const IdentityIndex* fresh = map_index(settings.runtime, node.table->instance);
  if (fresh == nullptr) {
    node.index_due_ms.store(now_ms + kRetryMs, std::memory_order_relaxed);
    return nullptr;
  }
  // The old one stays mapped: another thread may be looking at it.
  if (!node.index.compare_exchange_strong(index, fresh, std::memory_order_acq_rel)) {
    unmap_index(fresh);
    return index;
  }
  return fresh;
}

void look_again() {
  const Node* node = orphan_or(mapped_node.load(std::memory_order_acquire));
  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    node->places[i].directory.forget();
    node->places[i].looked_at_copies_ms.store(0, std::memory_order_relaxed);
  }
  const CurrentView* view = current_view();
  for (std::uint32_t i = 0; view != nullptr && i < view->view->dataset_count; ++i) {
    view->places[i].directory.forget();
  }
}

}  // namespace zazen
