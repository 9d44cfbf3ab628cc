// CopyFiles: the files of all copies: their names, their logs and the identity index.
//
// A copy is written to a temporary, and name_copies() gives it its name with others of its
// batch. The ledger follows the files: a copy is counted when its log has it. Until then it is
// unconfirmed, and its reservation stands for it. Every function that changes names takes the
// NamesLock, or takes it as a parameter from a caller that has it.
//
// Thread safe. Store describes the public functions that it passes on.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "bodhi/lean/frames/identity.h"
#include "daemon/capacity/full_directories.h"
#include "daemon/capacity/room_ledger.h"
#include "daemon/disk/cache_disk.h"
#include "daemon/disk/disk_health.h"
#include "daemon/disk/index_file.h"
#include "daemon/store/directory_rights.h"
#include "daemon/store/reconcile.h"
#include "daemon/threads/fair_mutex.h"

namespace zazen {

class NamesLock {  // only its owner gives, moves and removes names of copies, and writes logs
  friend class CopyFiles;
  explicit NamesLock(FairMutex& mutex) : lock_(mutex) {}
  std::lock_guard<FairMutex> lock_;
};

struct FinishedCopy {  // written, with identity and mode; ready to be published
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;
  uid_t owner = kNoUser;    // of the origin's file
  std::uint64_t bytes = 0;  // what was written, or what the disk gave, if more
  Temporary file;
  Reservation reservation;
  bool waits = false;  // a native without an identity: it gets no name (waiting_natives.h)
  std::shared_ptr<const std::atomic<bool>> cancelled;  // checked when it gets its name
  // Where all users are served: the directories through which its frame was found.
  ReachedDirectories reached;
  OriginIdentity identity = {};  // as it was sealed, for the last look at the origin
  int status = 0;                // what came of it: 0 or an errno
  bool is_unconfirmed = false;   // from name_copies() to confirm_copies()
};

struct ExactCopy {  // the file that was seen under a frame's name, not one that took its place
  FrameSeq seq = 0;
  ino_t ino = 0;  // 0: there was none
  std::int64_t ctime_ns = 0;

  static ExactCopy of(FrameSeq seq, const struct stat& local) {
    return {seq, local.st_ino, to_ns(local.st_ctim)};
  }
  bool operator==(const ExactCopy&) const = default;
};

class CopyFiles {
 public:
  static constexpr std::size_t kSmallBatch = 8;  // larger ones are flushed by one syncfs

  CopyFiles(const Config& config, const CacheDisk& disk, DiskHealth& health, RoomLedger& ledger,
            const DirectoryRights& rights);

  NamesLock lock_names() const { return NamesLock(names_mutex_); }
  void add_dataset(const NamesLock&, DatasetFiles files, DatasetLogs logs);
  std::size_t datasets() const { return dataset_count_.load(std::memory_order_acquire); }
  const DatasetFiles& dataset(std::uint32_t index) const { return datasets_[index]; }
  const DatasetLogs& logs(const NamesLock&, std::uint32_t index) const { return logs_[index]; }

  bool has_lost(std::uint32_t dataset, FrameSeq seq) const;
  UniqueFd open_copy(std::uint32_t dataset, FrameSeq seq) const;
  int read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const;
  bool directory_is_full(std::uint32_t dataset) const;

  Temporary make_temporary(std::uint32_t dataset) const;
  void name_copies(std::span<FinishedCopy> batch);
  void confirm_copies(std::span<FinishedCopy> batch);
  // Takes its name from a copy that was not confirmed, and from no other file.
  void give_up(FinishedCopy& copy);
  bool is_unconfirmed(const NamesLock&, std::uint32_t dataset, FrameSeq seq) const {
    return unconfirmed_.contains({dataset, seq});
  }
  int promote(std::uint32_t dataset, FrameSeq seq);
  int adopt(std::uint32_t dataset, FrameSeq seq, UniqueFd copy, const struct stat& origin,
            const AccessList& readers, const ReachedDirectories& reached);
  int suspend(std::uint32_t dataset, FrameSeq seq);
  int restore(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch);
  int renew(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch, UniqueFd copy,
            const struct stat& origin, const AccessList& readers);
  int keep_listing(std::uint32_t dataset, const std::string& encoded,
                   const ReachedDirectories& reached);

  Amount drop(std::uint32_t dataset, std::span<const FrameSeq> frames);
  Amount drop_exactly(std::uint32_t dataset, std::span<const ExactCopy> copies, bool durable);
  // Drops all copies except the natives that wait, and the listing. 0 or an errno. The dataset
  // is closed meanwhile, so that no copy gets a name.
  int drop_all(std::uint32_t dataset);
  Amount remove(const NamesLock& names, std::uint32_t dataset, std::span<const FrameSeq> frames,
                bool durable);
  // Removes aliens of the plan's datasets, in this order, until there is room. False: none was
  // removed.
  bool evict_for(const NamesLock& names, EvictionPlan plan);
  int sync_evictions();  // the disk gives their room back; 0 or an errno

  Status append(const NamesLock&, std::uint32_t dataset, FrameKind kind,
                std::span<const FrameSeq> added, std::span<const FrameSeq> forgotten,
                bool durable);
  // Keeps the log short for its readers.
  void compact(const NamesLock&, std::uint32_t dataset, FrameKind kind);

  std::uint64_t index_instance() const { return index_.instance(); }
  void reserve_index(std::uint64_t copies) { index_.reserve(copies); }
  // Adds a copy to the index if everybody may read the copy.
  void index(const NamesLock&, std::uint32_t dataset, const struct stat& local,
             const OriginIdentity& identity);
  void unindex_dataset(std::uint32_t dataset);

 private:
  void flush_data(std::span<FinishedCopy> batch);
  void link_names(const NamesLock& names, std::span<FinishedCopy> batch);
  int give_name(const NamesLock& names, FinishedCopy& copy, bool* flat);
  int flush_names(const std::set<std::uint32_t>& touched, bool all);
  void confirm_names(const NamesLock& names, std::span<FinishedCopy> batch);
  void log_batch(const NamesLock& names, std::span<FinishedCopy> batch);
  void note_unconfirmed(const NamesLock&, FinishedCopy& copy, bool is_unconfirmed);
  static int replace_identity(int copy_fd, const OriginIdentity& identity);
  int unlink_copy(const NamesLock& names, std::uint32_t dataset, FrameSeq seq);
  int unlink_name(const NamesLock&, std::uint32_t dataset, FrameSeq seq);
  void flush_removals(std::uint32_t dataset, std::span<const FrameSeq> frames);
  int note_full_directory(std::uint32_t dataset, int code);
  void index(const NamesLock&, std::uint32_t dataset, int copy_fd);
  void unindex(int directory_fd, const char* leaf);

  const Config& config_;
  const CacheDisk& disk_;
  DiskHealth& health_;
  RoomLedger& ledger_;
  const DirectoryRights& rights_;
  IndexFile index_;
  FullDirectories full_directories_;
  std::vector<DatasetFiles> datasets_;          // never moves: a reload adds while others read
  std::atomic<std::size_t> dataset_count_ = 0;  // of datasets_ and logs_

  // Protects the members below it, and the names on the disk: those of copies and of the
  // directories that are in frame names. Held during input and output.
  mutable FairMutex names_mutex_;
  std::vector<DatasetLogs> logs_;
  std::multiset<std::pair<std::uint32_t, FrameSeq>> unconfirmed_;  // copies of several workers
};

}  // namespace zazen
