// Node: the table that this node's daemon has published, mapped and compiled (D3).
//
// The shim knows the daemon by its table alone. A table is mapped at start. When the daemon
// stops or its heartbeat ends, the shim looks for a new table at most once a second. A
// superseded table (a reload) is replaced at once, so no hit is lost.
//
// A mapping is never removed, because another thread may use it. A next table with the same
// datasets in the same order replaces the mapping at the same address. So a thread in the
// middle of an operation continues with the same dataset. A process has at most one mapped
// table for each list of datasets, however many reloads and restarts it lives through.
//
// A daemon that was killed, or hangs, leaves a table behind. It tells where copies may be, so
// that a change still drops them. No copy is served by it.
#pragma once
#include "bodhi/lean/frames/identity_index.h"
#include "bodhi/lean/frames/table.h"
#include "preload/process/dataset_matcher.h"

namespace zazen {

struct Node {
  const Table* table;
  Node* next;          // the list of all nodes
  std::uint32_t room;  // the number of datasets for which this node has room
  mutable std::atomic<Counters*> counters;            // mapped with the table, if they exist
  mutable std::atomic<Counters*> counters_place;      // the mapping of another daemon's
  mutable std::atomic<const IdentityIndex*> index;    // mapped at first use
  mutable std::atomic<std::int64_t> index_due_ms;     // when to look for it again
  mutable std::atomic<std::int64_t> counters_due_ms;  // when to look for them again
  std::atomic<bool> successor_is_missing;             // the table's successor, at the last look
  DatasetMatcher matchers[];  // as many, and in the order, of table->datasets
};

// The table that was mapped last, null if there is none; *alive says whether its daemon serves.
const Node* current_node(bool* alive, std::int64_t now_ms = monotonic_ms());

extern std::atomic<Node*> mapped_node;

// The node's counters of hits and misses; if they cannot be mapped, counters that no daemon
// reads.
Counters& counters_of(const Node& node);

// The node's index of identities, null if there is none.
const IdentityIndex* index_of(const Node& node);

// Discards this process's knowledge of the datasets' directories and copies.
void forget_lookups();

}  // namespace zazen
