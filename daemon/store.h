// Store: the copies that this node holds, on disk and in memory. It knows nothing of sockets
// or origins.
//
// A copy comes in three steps: reserve() its room, write it to a temporary, publish() it with
// others of its batch: the data is flushed, the file gets its name, the name is flushed, the
// log is appended and flushed. So a crash at any point leaves whole copies or none, and a
// published copy is durable. What does not fit is refused: an alien at once, which also makes
// the cache scan-resistant (what is held stays); a native after aliens were evicted for it
// (D16).
//
// Thread safe. names_mutex_ (names and logs, held during input and output) is taken before
// mutex_ (memory only).
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "bodhi/identity.h"
#include "daemon/access_list.h"
#include "daemon/cache_disk.h"
#include "daemon/index_file.h"
#include "daemon/inventory.h"
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
  // Where all users are served: who may search the directories of its name, outermost first.
  std::vector<AccessList> directories;
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
};

class Store {
 public:
  static constexpr std::size_t kSmallBatch = 8;  // more are flushed by one syncfs

  // Sweeps, replays and reconciles; the caller holds the cache's lock. The configuration must
  // outlive the store. The errors are whole sentences.
  static Result<std::unique_ptr<Store>> open(const Config& config, CacheDisk disk);

  const CacheDisk& disk() const { return disk_; }
  const DatasetConfig& dataset(std::uint32_t index) const { return config_.datasets[index]; }
  std::size_t datasets() const { return files_.size(); }
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;
  bool serves_all_users() const { return config_.all_users; }
  // Looks at the origin's directories: who may reach the copies (mirrored_rights.h). Nothing to
  // do where only one user is served. One thread at a time.
  void mirror_rights(std::uint32_t dataset);
  // Names the index that goes with this store, for the table that is published with it.
  std::uint64_t instance() const { return index_.instance(); }
  // Puts what was held at the start into the index. Takes seconds for millions of copies.
  void index_copies(std::uint32_t dataset, const std::atomic<bool>& give_up);

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
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

  // Not valid if there is no room.
  Reservation reserve(FrameKind kind, std::uint64_t bytes);
  // The disk was full before its limit: lets aliens go. False if there was none.
  bool evict_aliens(std::uint64_t bytes);
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
  Amount evict(std::uint32_t dataset, const Selection& selection);

  // Keeps an encoded listing of the origin for the dataset (D20). 0 or an errno.
  int keep_listing(std::uint32_t dataset, const std::string& encoded);

 private:
  friend class Reservation;
  struct Deficit {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    bool none() const { return bytes == 0 && files == 0; }
  };

  Store(const Config& config, CacheDisk disk)
      : config_(config),
        disk_(std::move(disk)),
        index_(config.runtime, IndexFile::kFewestSlotsLog2, config.all_users),
        inventory_(config.datasets.size()) {}
  Deficit deficit(std::uint64_t bytes, std::uint64_t files) const;  // mutex_ is held
  Reservation hold(std::uint64_t bytes);                            // mutex_ is held
  bool evict_for(Deficit need);                                     // names_mutex_ is held
  Amount remove(std::uint32_t dataset, std::span<const FrameSeq> frames, bool durable);
  void flush_data(std::span<FinishedCopy> batch);
  void give_names(std::span<FinishedCopy> batch);
  void log_batch(std::span<FinishedCopy> batch);
  SequenceLog& log_of(std::uint32_t dataset, FrameKind kind);
  void unlink_copy(std::uint32_t dataset, FrameSeq seq);
  void index(std::uint32_t dataset, int copy_fd);
  void unindex(int directory_fd, const char* leaf);
  void mirror_rights_of_names(std::uint32_t dataset);
  bool is_everybodys(std::uint32_t dataset, const struct stat& copy) const;
  Status append(std::uint32_t dataset, FrameKind kind, std::span<const FrameSeq> added,
                std::span<const FrameSeq> forgotten, bool durable);

  const Config& config_;
  CacheDisk disk_;
  IndexFile index_;
  std::mutex names_mutex_;
  std::vector<DatasetFiles> files_;
  std::vector<std::pair<std::uint32_t, FrameSeq>> fetched_lately_;

  mutable std::mutex mutex_;
  std::set<std::uint32_t> open_to_all_;               // datasets that everybody can reach
  std::map<std::uint32_t, std::size_t> next_rights_;  // only the thread that mirrors them
  Inventory inventory_;
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t reserved_files_ = 0;
  std::uint64_t unallocated_bytes_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace zazen
