// Table: the file that a daemon publishes for the programs of its node (D3).
//
// The shim maps <runtime>/table read-only: where the cache is, which datasets there are,
// whether the daemon lives. It maps <runtime>/counters read-write. Programs add hits and misses
// there with plain atomics, so the daemon learns of them without a call. They also count
// changes of frames there that they could not tell the daemon. The news for the worker of their
// user is there, too (program_news.h). A new table replaces the old one by rename; only the
// atomics of a table change in place. A dataset keeps its index as long as the daemon lives.
//
// A live daemon holds an OFD write lock on the table file. A fresh process sees with one fcntl
// that a daemon was killed; later the heartbeat shows it. Lean.
#pragma once
#include <atomic>

#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/frames/program_news.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr char kTableFile[] = "table";
inline constexpr char kCountersFile[] = "counters";
inline constexpr char kUserCountersDirectory[] = "users";  // of a daemon for all: one each
inline constexpr char kSocketFile[] = "socket";
inline constexpr char kJobsDirectory[] = "jobs";        // views and tallies, see view.h
inline constexpr char kReportsDirectory[] = "reports";  // of ranks that have ended
inline constexpr std::uint64_t kTableMagic = 0x31656c626174617aULL;  // "zatable1"
inline constexpr std::uint32_t kTableVersion = 8;
inline constexpr std::int64_t kHeartbeatPeriodMs = 500;
inline constexpr std::int64_t kHeartbeatStaleMs = 5'000;
// A client that waits for an answer gives up after this time without a heartbeat.
inline constexpr std::int64_t kMissedBeatsMs = 4 * kHeartbeatPeriodMs;

// kSuperseded: the same daemon has already published another table. kOutOfUse: the daemon
// lives, but its disk fails; programs read the origin.
enum class DaemonState : std::uint32_t {
  kStarting = 0,
  kServing = 1,
  kStopped = 2,
  kSuperseded = 3,
  kOutOfUse = 4,
};
enum class Validate : std::uint32_t { kSample = 0, kAlways = 1, kNever = 2 };
enum class Fill : std::uint32_t { kBackground = 0, kWait = 1 };
// Whether a job's ranks divide the frames; kRequire: a job that cannot ends in MPI_Init (D24).
enum class FilterMode : std::uint32_t { kOff = 0, kOn = 1, kRequire = 2 };
// Whether frames that a divided job left unread are a failure of the job or only a warning.
enum class AuditMode : std::uint32_t { kFail = 0, kWarn = 1 };

// Why copies of a dataset are compared with the origin before they are served, as bits of
// TableDataset::doubts. daemon/origin/trust.h decides how long.
enum DoubtCause : std::uint32_t {
  kStale = 1,      // a copy was stale
  kUnwatched = 2,  // changes may have been missed
  kYoung = 4,      // some copies are of frames that had just changed
};

struct TableDataset {
  char path[kMaxPath];        // absolute, as configured, no '/' at its end
  char frames[kMaxTemplate];  // the template's text
  char also[kMaxAlso];        // patterns of companions, joined by '/' (companion_patterns.h)
  FilterMode filter;
  Validate validate;
  Fill fill;
  std::uint32_t removed;  // 1: not served since a reload; programs still report changes
  std::uint32_t push;     // 0 or 1: programs report frames that they write, for a push
  AuditMode audit;
  std::atomic<std::uint32_t> doubts;        // 0: none; else each open is checked (D10)
  std::atomic<std::int64_t> sampled_at_ms;  // monotonic; 0: never
};

inline constexpr std::size_t kPendingSlots = 4096;
inline std::size_t pending_slot(std::uint32_t dataset, FrameSeq seq) {
  return (seq + dataset * std::uint64_t{0x9e37}) % kPendingSlots;
}
// The lower half of a slot counts the present ones, the upper half all that there ever were.
inline constexpr std::uint64_t kOnePending = (std::uint64_t{1} << 32) + 1;
inline std::uint32_t pending_now(std::uint64_t slot) {
  return static_cast<std::uint32_t>(slot);
}

struct Table {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t dataset_count;
  std::uint64_t file_size;
  NodeId node_id;
  char node_name[kMaxNodeName];
  char cache[kMaxPath];  // absolute, no '/' at its end
  std::uint64_t cache_dev;
  std::uint64_t cache_ino;
  std::uint64_t instance;  // differs for each start of a daemon
  std::int32_t pid;
  std::atomic<DaemonState> state;
  std::atomic<std::int64_t> heartbeat_ms;   // CLOCK_MONOTONIC
  std::atomic<std::uint32_t> orders_reads;  // 0 or 1: copies are read in turns (D17)
  std::uint32_t has_peers;  // 0 or 1: other nodes may hold copies of a changed frame
  // Counts copies without a name that may get one: fills and pushes under way, suspended
  // copies, natives that wait. A program that has changed the frame reads its slot first and
  // then looks for the copy's name; in this order it misses no copy. If the slot counts no copy
  // and is the same before and after the change, no copy has got a name in between.
  std::atomic<std::uint64_t> pending[kPendingSlots];
  TableDataset datasets[];
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

struct DatasetCounters {
  std::atomic<std::uint64_t> hits;
  std::atomic<std::uint64_t> misses;
};
// Its names, compiled. False if they do not parse.
bool names_of(const TableDataset& dataset, FrameName* name);

struct Counters {
  std::uint64_t magic;                     // kTableMagic
  DatasetCounters datasets[kMaxDatasets];  // by index in the table
  // Changes that a program could not tell the daemon: it had no free descriptor, or the socket
  // is outside of the program's root.
  std::atomic<std::uint64_t> untold_changes[kMaxDatasets];
  ProgramNews news;
};

std::size_t table_size(std::uint32_t dataset_count);
std::int64_t monotonic_ms();  // CLOCK_MONOTONIC_COARSE: no system call

// Every offset, count and string of a mapped table is within bounds and terminated.
bool table_is_valid(const Table* table, std::size_t mapped_size);

// Serving, and a heartbeat younger than kHeartbeatStaleMs.
bool daemon_is_alive(const Table& table, std::int64_t now_ms);

inline bool is_superseded(const Table& table) {
  return table.state.load(std::memory_order_acquire) == DaemonState::kSuperseded;
}

// Maps <runtime>/table read-only by raw system calls. Null if the file is missing or not valid,
// or if no daemon holds its lock. Also null if its owner is neither this user nor root, or if
// others can write to it. The mapping is table->file_size bytes. A caller that passes is_held
// gets the state of the lock there, and also gets the table of a killed daemon.
const Table* map_table(const char* runtime, bool* is_held = nullptr);
void unmap_table(const Table* table);
// The version of the table there, if the running daemon that publishes it is of another version
// of Zazen; else 0.
std::uint32_t other_table_version(const char* runtime);
// Maps <runtime>/counters, or this user's file of <runtime>/users, read-write; null if that
// fails.
Counters* map_counters(const char* runtime);

// The copy's path, <cache><dataset path>/<name>; 0 if it does not fit.
std::size_t copy_path(const Table& table, const TableDataset& dataset, const char* name,
                      char* out, std::size_t capacity);

// The directory of a dataset's logs and listing, relative to its directory in the cache (D4).
inline constexpr char kDatasetStateDirectory[] = ".zazen";
inline constexpr char kNativeLog[] = ".zazen/native.seq";
inline constexpr char kAlienLog[] = ".zazen/alien.seq";
inline constexpr char kListingFile[] = ".zazen/listing";

}  // namespace zazen
