// Store: the copies that this node holds, on disk and in memory. It knows nothing of sockets
// or origins.
//
// A copy comes in three steps: reserve() its room, write it to a temporary, publish() it with
// others of its batch: the data is flushed, the file gets its name, the name is flushed, the
// log is appended and flushed. So a crash at any point leaves whole copies or none, and a
// published copy is durable. For what does not fit aliens are evicted, or it is refused: see
// eviction.h (D16).
//
// Thread safe. names_mutex_ (names and logs, held during input and output) is taken before
// mutex_ (memory only).
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "bodhi/identity.h"
#include "daemon/cache_disk.h"
#include "daemon/disk_health.h"
#include "daemon/eviction.h"
#include "daemon/index_file.h"
#include "daemon/inventory.h"
#include "daemon/pins.h"
#include "daemon/reconcile.h"

namespace zazen {

class Store;

class Reservation {  // room that is held for one copy, until its owner goes
 public:
  Reservation() = default;
  Reservation(Store* store, std::uint64_t bytes) : store_(store), bytes_(bytes) {}
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { release(); }
  bool valid() const { return store_ != nullptr; }
  // The disk has given the blocks: its own figure of free space counts them from now on.
  void allocated();

 private:
  friend class Store;
  void release();
  void release_locked();  // the store's mutex_ is held
  Store* store_ = nullptr;
  std::uint64_t bytes_ = 0;
  bool allocated_ = false;
};

struct FinishedCopy {  // written, with identity and mode; ready to be published
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;
  std::uint64_t bytes = 0;
  Temporary file;
  Reservation reservation;
  std::shared_ptr<const std::atomic<bool>> cancelled;  // looked at when it gets its name
  // Asked once it has its name, if there is one: false, and it loses it again. From then on who
  // changes the origin finds the copy under its name, and drops it.
  std::function<bool()> is_current;
  int status = 0;  // publish()'s answer: 0 or an errno
};

struct Amount {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
};

struct DatasetUsage {
  std::uint64_t natives = 0;
  std::uint64_t aliens = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pinned = 0;  // of the frames that are held
  std::vector<FrameRange> pins;
};
struct StoreUsage {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t evictions = 0;
  std::vector<DatasetUsage> datasets;
};

struct StoredFrame {
  std::uint32_t dataset;
  FrameSeq seq;
  HeldFrame held;
  bool pinned;
};

class Store {
 public:
  static constexpr std::size_t kSmallBatch = 8;  // more are flushed by one syncfs

  // Sweeps, replays and reconciles; the caller holds the cache's lock. The configuration must
  // outlive the store. The errors are whole sentences.
  static Result<std::unique_ptr<Store>> open(const Config& config, CacheDisk disk);

  const CacheDisk& disk() const { return disk_; }
  DiskHealth& health() const { return health_; }
  const DatasetConfig& dataset(std::uint32_t index) const { return config_.datasets[index]; }
  std::size_t datasets() const { return files_.size(); }
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;
  // Names the index that goes with this store, for the table that is published with it.
  std::uint64_t instance() const { return index_.instance(); }
  // Puts what was held at the start into the index. Takes seconds for millions of copies.
  void index_copies(std::uint32_t dataset, const std::atomic<bool>& give_up);

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
  // Not valid, with errno, if it fails.
  UniqueFd open_copy(std::uint32_t dataset, FrameSeq seq) const;
  // The copy's attribute, from its file: 0 or an errno; ENOENT if the file is gone.
  int read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const;
  StoreUsage usage() const;
  std::vector<StoredFrame> list(std::uint32_t dataset) const;  // ascending
  // The first, the last, the newest, and some at random.
  std::vector<FrameSeq> sample(std::uint32_t dataset, std::size_t at_random) const;

  // Aliens that were fetched shortly before the store was opened, by dataset.
  const std::vector<std::pair<std::uint32_t, FrameSeq>>& fetched_lately() const {
    return fetched_lately_;
  }

  // How often each dataset was opened until now: who is idle gives way first.
  void note_opens(std::span<const std::uint64_t> opens);
  // Not valid if there is no room, nor to be made.
  Reservation reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes);
  // The disk was full before its limit (ENOSPC, EDQUOT): aliens go as in a full cache. False if
  // none did.
  bool make_room(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes);
  Temporary make_temporary(std::uint32_t dataset) const;
  void publish(std::span<FinishedCopy> batch);

  // An alien becomes a native. 0 or an errno.
  int promote(std::uint32_t dataset, FrameSeq seq);
  // Removes copies now and durably. Frames that are not held are no error.
  Amount drop(std::uint32_t dataset, std::span<const FrameSeq> frames);
  struct Selection {
    FrameSeq first;
    FrameSeq last;
    bool natives;
    bool aliens;
    bool dry_run;
  };
  struct Evicted {
    Amount gone;
    std::uint64_t pinned = 0;  // frames of the selection that stay
  };
  Evicted evict(std::uint32_t dataset, const Selection& selection);
  // Pinned frames stay until they are unpinned, changed or lost, also over a restart. 0 or an
  // errno; *held is what is held of the range.
  int pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held);

  // Keeps an encoded listing of the origin for the dataset (D20). 0 or an errno.
  int keep_listing(std::uint32_t dataset, const std::string& encoded);

 private:
  friend class Reservation;
  Store(const Config& config, CacheDisk disk)
      : config_(config),
        disk_(std::move(disk)),
        health_([this] { return disk_.probe(); }),
        index_(config.runtime),
        inventory_(config.datasets.size()),
        eviction_(config.datasets.size()),
        pins_(config.datasets.size()) {}
  Room deficit(std::uint64_t bytes, std::uint64_t files) const;  // mutex_ is held
  Reservation hold(std::uint64_t bytes);                         // mutex_ is held
  // Aliens of these datasets, in turn, until there is room. names_mutex_ is held.
  bool evict_for(Room need, std::span<const std::uint32_t> from);
  std::optional<FrameSeq> choose_victim(std::uint32_t dataset);
  std::vector<std::uint32_t> who_gives_way(std::uint32_t dataset, FrameKind kind, Room need);
  // The inventory and what is counted with it. mutex_ is held.
  void take_in(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes);
  void let_go(std::uint32_t dataset, FrameSeq seq);
  // Counts anew after a change of the pins; what is held of the range.
  Amount recount(std::uint32_t dataset, FrameRange range);
  void load_pins(std::uint32_t dataset);
  void keep_limits();  // they may be lower than the last time
  Amount remove(std::uint32_t dataset, std::span<const FrameSeq> frames, bool durable);
  void flush_data(std::span<FinishedCopy> batch);
  void give_names(std::span<FinishedCopy> batch);
  int flush_names(const std::set<std::uint32_t>& touched, bool all);
  void log_batch(std::span<FinishedCopy> batch);
  SequenceLog& log_of(std::uint32_t dataset, FrameKind kind);
  void unlink_copy(std::uint32_t dataset, FrameSeq seq);
  void index(std::uint32_t dataset, int copy_fd);
  void unindex(int directory_fd, const char* leaf);
  Status append(std::uint32_t dataset, FrameKind kind, std::span<const FrameSeq> added,
                std::span<const FrameSeq> forgotten, bool durable);

  const Config& config_;
  CacheDisk disk_;
  mutable DiskHealth health_;
  IndexFile index_;
  std::mutex names_mutex_;
  std::vector<DatasetFiles> files_;
  std::vector<std::pair<std::uint32_t, FrameSeq>> fetched_lately_;

  mutable std::mutex mutex_;
  Inventory inventory_;
  Eviction eviction_;
  std::vector<Pins> pins_;  // one for each dataset
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t reserved_files_ = 0;
  std::uint64_t unallocated_bytes_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace zazen
