// Node: the table that this node's daemon has published, mapped and compiled (D3).
//
// The shim knows the daemon by its table alone. A table is mapped at start; when the daemon
// stops or its heartbeat ends, a new table is looked for at most once a second. One that was
// superseded (a reload) is replaced at once: no hit is lost by it.
//
// A mapping is never undone, because another thread may use it. The next table takes the place
// of one that has the same datasets in the same order, at the same address: so a thread that is
// in the middle of something goes on with the same dataset, and a process that lives through
// any number of reloads and restarts has as many tables mapped as it met lists of datasets.
//
// A daemon that was killed, or hangs, leaves a table behind. It says where copies may be, so
// that a change drops them all the same; nothing is served by it.
#pragma once
#include "bodhi/lean/frames/identity_index.h"
#include "bodhi/lean/frames/table.h"
#include "preload/process/place.h"

namespace zazen {

struct Node {
  const Table* table;
  Node* next;          // of all that were made
  std::uint32_t room;  // so many datasets fit in here, and where the table is
  mutable std::atomic<Counters*> counters;  // mapped with the table, if they are there
  mutable std::atomic<Counters*> counters_place;      // where they were, of another daemon
  mutable std::atomic<const IdentityIndex*> index;    // mapped when it is first asked
  mutable std::atomic<std::int64_t> index_due_ms;     // when to look for it again
  mutable std::atomic<std::int64_t> counters_due_ms;  // when to look for them again
  std::atomic<bool> successor_is_missing;  // the table's, when it was last looked for
  Place places[];                          // as many, and in the order, of table->datasets
};

// The last table that was mapped, null if there is none; *alive says whether its daemon still
// serves.
const Node* current_node(bool* alive, std::int64_t now_ms = monotonic_ms());

extern std::atomic<Node*> mapped_node;

// Where the node's hits and misses are counted; nobody hears of them if that cannot be mapped.
Counters& counters_of(const Node& node);

// The node's index of identities, null if there is none.
const IdentityIndex* index_of(const Node& node);

// What this process knows of the datasets' directories and copies is looked at anew.
void look_again();

}  // namespace zazen
