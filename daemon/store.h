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
#include <array>
#include <atomic>
#include <condition_variable>
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
#include "daemon/disk_health.h"
#include "daemon/eviction.h"
#include "daemon/full_directories.h"
#include "daemon/index_file.h"
#include "daemon/inventory.h"
#include "daemon/origin_way.h"
#include "daemon/pins.h"
#include "daemon/reconcile.h"
#include "daemon/table_turn.h"
#include "daemon/turn_mutex.h"

namespace zazen {

class Store;
struct RightsAtOrigin;

class Reservation {  // room that is held for one copy, until its owner goes
 public:
  Reservation() = default;
  explicit Reservation(int refusal) : refusal_(refusal) {}
  Reservation(Store* store, Room room, std::optional<OwnerKey> native_of)
      : store_(store), room_(room), unallocated_bytes_(room.bytes), native_of_(native_of) {}
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { release(); }
  bool valid() const { return store_ != nullptr; }
  // Why it is not: ENOSPC; EDQUOT, the owner's natives have their share; EAGAIN, the store is
  // not reconciled yet; EIO, it cannot be.
  int refusal() const { return refusal_; }
  // The disk has given the blocks: its own figure of free space counts them from now on.
  void allocated();

 private:
  friend class Store;
  void release();
  void release_locked();  // the store's mutex_ is held
  void swap(Reservation& other) noexcept;
  Store* store_ = nullptr;
  Room room_;
  std::uint64_t unallocated_bytes_ = 0;
  std::optional<OwnerKey> native_of_;  // whose share it takes from
  bool is_admitted_ = false;  // copies went for it
  int refusal_ = 0;
};

struct FinishedCopy {  // written, with identity and mode; ready to be published
  std::uint32_t dataset = 0;
  FrameSeq seq = 0;
  FrameKind kind = FrameKind::kAlien;
  uid_t owner = kNoUser;    // of the origin's file
  std::uint64_t bytes = 0;  // what was written; publish() makes it what the disk gave, if more
  Temporary file;
  Reservation reservation;
  bool waits = false;  // a native without an identity: it gets no name (waiting_natives.h)
  std::shared_ptr<const std::atomic<bool>> cancelled;  // looked at when it gets its name
  // Where all users are served: the directories through which its frame was found.
  ReachedDirectories reached;
  // Asked once it has its name, if there is one: false, and it loses it again. From then on who
  // changes the origin finds the copy under its name, and drops it. No lock is held meanwhile.
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

struct ExactCopy {  // the file that was seen under a frame's name, not one that took its place
  FrameSeq seq = 0;
  ino_t ino = 0;  // 0: there was none
  std::int64_t ctime_ns = 0;

  static ExactCopy of(FrameSeq seq, const struct stat& local) {
    return {seq, local.st_ino, to_ns(local.st_ctim)};
  }
  bool operator==(const ExactCopy&) const = default;
};

class Store {
 public:
  static constexpr std::size_t kSmallBatch = 8;  // more are flushed by one syncfs

  // Believes what a clean stop left, or else replays the logs; the caller holds the cache's
  // lock. The configuration must outlive the store. The errors are whole sentences.
  static Result<std::unique_ptr<Store>> open(const Config& config, CacheDisk disk);
  // What open() found: everything as a clean stop had left it.
  bool stopped_cleanly() const { return stopped_cleanly_; }
  // Files and logs agree, and all sizes are known. From the start, if the stop was clean.
  bool is_reconciled() const;
  // Compares the files with what is held, and puts them into the index. Takes seconds for
  // millions of copies. Returns adopted aliens that may still be young (young_copies.h).
  std::vector<FrameSeq> reconcile(std::uint32_t dataset);
  // Datasets for which that was tried in vain: the disk did not let us know.
  std::set<std::uint32_t> not_reconciled() const;
  // Ends it, and who waits for it. For the stop.
  void give_up_reconciling();
  // The last call: what the next start may believe is written down.
  void stop_cleanly(bool trusted = true);  // false: copies are in doubt

  const CacheDisk& disk() const { return disk_; }
  DiskHealth& health() const { return health_; }
  const DatasetConfig& dataset(std::uint32_t index) const { return config_.datasets[index]; }
  std::size_t datasets() const { return dataset_count_.load(std::memory_order_acquire); }
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const;
  bool serves_all_users() const { return config_.all_users; }
  // Looks at the origin's directories: who may reach the copies (mirrored_rights.h). Nothing to
  // do where only one user is served. One look at a time, so that the last one counts. If the
  // frames are in another directory than before, all copies are dropped. If not everybody may
  // reach the copies any more, the index has none of them when it returns.
  void mirror_own_rights(std::uint32_t dataset);
  // Everybody may since a while ago: the index lacks the copies until they are reconciled.
  bool is_index_due(std::uint32_t dataset) const { return rights_turns_[dataset].index_due; }
  // The same for directories that single frames have in their names: some at a time, in turn.
  void mirror_rights_of_names(std::uint32_t dataset);
  // Looks as above, unless these are the directories that are mirrored.
  void expect_mirrored(std::uint32_t dataset, const ReachedDirectories& reached);
  // Names the index that goes with this store, for the table that is published with it.
  std::uint64_t instance() const { return index_.instance(); }

  // For a reload: first the directory of a dataset that is to be added, then, when it is the
  // last one of the configuration, the dataset itself. Its files are to be reconciled.
  Result<UniqueFd> make_directory(const DatasetConfig& dataset) const;
  Status add_dataset(UniqueFd directory);
  // Evicts what is over the limits, which may have been lowered.
  void keep_limits();

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const;
  // Held, without a file; not one that is just being removed.
  bool has_lost(std::uint32_t dataset, FrameSeq seq) const;
  // Its file, also of a native that waits. Not valid, with errno, if it cannot be opened.
  UniqueFd open_copy(std::uint32_t dataset, FrameSeq seq) const;
  // The copy's attribute, from its file: 0 or an errno; ENOENT if the file is gone.
  int read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const;
  StoreUsage usage() const;
  std::vector<StoredFrame> list(std::uint32_t dataset) const;  // ascending
  // At most `limit` held frames with numbers of `first` and more, ascending.
  std::vector<FrameSeq> frames_from(std::uint32_t dataset, FrameSeq first,
                                    std::size_t limit) const;
  // The first, the last, the newest, and some at random.
  std::vector<FrameSeq> sample(std::uint32_t dataset, std::size_t at_random) const;

  // Aliens that were fetched shortly before the store was opened, by dataset.
  const std::vector<std::pair<std::uint32_t, FrameSeq>>& fetched_lately() const {
    return fetched_lately_;
  }

  // Its directory takes no more names at present: nothing of it should be fetched.
  bool directory_is_full(std::uint32_t dataset) const;

  // Opens since the last time, and of which datasets: who is idle gives way first.
  void note_opens(std::uint64_t opens, std::span<const std::uint32_t> datasets);
  // Not valid if there is no room, nor to be made, or if the natives of `owner` would take more
  // than their share. A native that needs room waits until the
  // store is reconciled; before that, no alien makes room for another.
  Reservation reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes,
                      Wanted wanted = Wanted::kNow, uid_t owner = kNoUser);
  // The reserved native has turned out to be this owner's. 0 or EDQUOT.
  int assign(Reservation& room, std::uint32_t dataset, uid_t owner);
  // Users who own frames of which there are copies.
  std::vector<uid_t> owners() const;
  // More bytes for a copy that has turned out larger than its reservation. 0 or an errno.
  int reserve_more(Reservation& room, std::uint32_t dataset, FrameKind kind,
                   std::uint64_t bytes, Wanted wanted);
  // Takes the room on the disk: `take` gives 0 or an errno. If the disk is full before its
  // limit (ENOSPC, EDQUOT), aliens go as in a full cache, and it is tried again.
  int allocate(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes, Wanted wanted,
               const std::function<int()>& take);
  Temporary make_temporary(std::uint32_t dataset) const;
  // Where all users are served, a copy whose frame was found through other directories than
  // those that are mirrored gets no name: EAGAIN.
  void publish(std::span<FinishedCopy> batch);

  // A native whose origin is not there yet: held, and not served. How many there are.
  bool is_waiting(std::uint32_t dataset, FrameSeq seq) const;
  std::uint64_t waiting(std::uint32_t dataset) const;
  // Such a native, open as `copy`, is the origin's file: it gets this identity and its name,
  // and where all users are served these readers. 0 or an errno; ENOENT: it does not wait any
  // more; EAGAIN: as in publish().
  int adopt(std::uint32_t dataset, FrameSeq seq, UniqueFd copy, const struct stat& origin,
            const AccessList& readers, const ReachedDirectories& reached);

  // Somebody may write to the frame from now on: its copy is held, and not served
  // (suspended_copies.h). 0; ENOENT if it has no copy; otherwise the caller drops it.
  int suspend(std::uint32_t dataset, FrameSeq seq);
  // Its copy is served again. 0 or an errno; EAGAIN: another epoch has begun.
  int restore(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch);
  // The frame was written and has the same bytes all the same: its suspended copy, open as
  // `copy`, gets this identity, and `readers` where all users are served. 0 or an errno.
  int renew(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch, UniqueFd copy,
            const struct stat& origin, const AccessList& readers);
  bool is_suspended(std::uint32_t dataset, FrameSeq seq) const;
  std::uint64_t epoch(std::uint32_t dataset, FrameSeq seq) const;  // 0: it is not suspended
  std::vector<FrameSeq> suspended(std::uint32_t dataset) const;

  // An alien becomes a native. 0 or an errno.
  int promote(std::uint32_t dataset, FrameSeq seq);
  // Removes copies now and durably. Frames that are not held are no error.
  Amount drop(std::uint32_t dataset, std::span<const FrameSeq> frames);
  // The same, for those that are still under their names.
  Amount drop_exactly(std::uint32_t dataset, std::span<const ExactCopy> copies);
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
    int status = 0;            // 0: no crash brings them back; or an errno
  };
  Evicted evict(std::uint32_t dataset, const Selection& selection);
  // Pinned frames stay until they are unpinned, changed or lost, also over a restart. 0 or an
  // errno; *held is what is held of the range.
  int pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held);

  // Keeps an encoded listing of the origin for the dataset (D20). 0 or an errno; EAGAIN: as in
  // publish().
  int keep_listing(std::uint32_t dataset, const std::string& encoded,
                   const ReachedDirectories& reached);

 private:
  friend class Reservation;
  Store(const Config& config, CacheDisk disk)
      : config_(config),
        disk_(std::move(disk)),
        health_([this] { return disk_.probe(); }),
        index_(config.runtime, IndexFile::kFewestSlotsLog2, config.all_users),
        inventory_(kMaxDatasets),
        eviction_(kMaxDatasets),
        pins_(kMaxDatasets),
        unreconciled_(kMaxDatasets) {
    files_.reserve(kMaxDatasets);  // a reload adds to them while others read
  }
  // The next dataset of the configuration; *resumed if it is as a clean stop left it.
  Status take_up(UniqueFd directory, std::uint64_t stamp, bool* resumed);
  Room deficit(Room room) const;  // mutex_ is held
  Reservation reserve_room(std::uint32_t dataset, FrameKind kind, Room room, Wanted wanted,
                           OwnerKey owner);
  Reservation try_reserve(std::uint32_t dataset, FrameKind kind, Room room, Wanted wanted,
                          OwnerKey owner);
  // These four: mutex_ is held.
  Reservation hold(FrameKind kind, Room room, OwnerKey owner);
  std::uint64_t native_share() const;
  bool exceeds_share(OwnerKey owner, std::uint64_t bytes) const;
  void note_owner(uid_t owner);
  int refuse_share(std::uint32_t dataset) const;  // EDQUOT
  bool is_room_to_come(std::uint64_t synced) const;
  int sync_evictions();
  bool make_room(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes, Wanted wanted);
  // Aliens of these datasets, in turn, until there is room. names_mutex_ is held.
  bool evict_for(Room need, std::span<const std::uint32_t> from);
  std::optional<FrameSeq> choose_victim(std::uint32_t dataset);
  // These four: mutex_ is held.
  std::vector<std::uint32_t> who_gives_way(std::uint32_t dataset, FrameKind kind, Room need,
                                           Wanted wanted, OwnerKey owner = kUnknownOwner);
  Room evictable(std::uint32_t dataset) const;
  void take_in(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes,
               OwnerKey owner);
  void let_go(std::uint32_t dataset, FrameSeq seq);
  // Counts the pinned frames anew, for `pins`; what is held of the range. names_mutex_ is held,
  // so that what is held stays the same, and mutex_ is not.
  Amount recount(std::uint32_t dataset, FrameRange range, Pins& pins) const;
  void load_pins(std::uint32_t dataset);
  bool is_selected(std::uint32_t dataset, FrameSeq seq, const Selection& selection) const;
  Amount remove(std::uint32_t dataset, std::span<const FrameSeq> frames, bool durable);
  void flush_data(std::span<FinishedCopy> batch);
  void give_names(std::span<FinishedCopy> batch);
  void keep_names(std::span<FinishedCopy> batch);
  int flush_names(const std::set<std::uint32_t>& touched, bool all);
  void log_batch(std::span<FinishedCopy> batch);
  SequenceLog& log_of(std::uint32_t dataset, FrameKind kind);
  static int replace_identity(int copy_fd, const OriginIdentity& identity);
  int unlink_copy(std::uint32_t dataset, FrameSeq seq);
  int unlink_name(std::uint32_t dataset, FrameSeq seq);
  int give_name(FinishedCopy& copy, bool* flat);
  // 0 if a copy whose frame was found through these directories may have a name; then those of
  // its name that are below the dataset's own have their rights. names_mutex_ is held.
  int grant_way(std::uint32_t dataset, const std::string& below,
                const ReachedDirectories& reached) const;
  bool is_mirrored(std::uint32_t dataset, const ReachedDirectories& reached) const;
  // These four: 0 or an errno. The dataset's turn is taken; names_mutex_ is held for the first.
  int close_changed(std::uint32_t dataset, const ReachedDirectories& now);
  int move_to(std::uint32_t dataset, const RightsAtOrigin& now);
  int drop_all(std::uint32_t dataset);
  int mirror(std::uint32_t dataset, const RightsAtOrigin& now);
  void flush_removals(std::uint32_t dataset, std::span<const FrameSeq> frames);
  void index(std::uint32_t dataset, int copy_fd);
  void unindex(int directory_fd, const char* leaf);
  int note_full_directory(std::uint32_t dataset, int code);
  // Keeps the log short for who reads it. names_mutex_ is held.
  void compact(std::uint32_t dataset, FrameKind kind);
  void write_compact(std::uint32_t dataset, FrameKind kind, const char* name, SequenceLog& log);

  struct Findings;
  bool is_reconciled_locked() const;
  bool wait_until_reconciled();  // false: it was given up
  void reconcile_files(std::uint32_t dataset, std::span<const FrameSeq> frames,
                       Findings& findings);
  // These two: false if the disk does not let us know.
  bool go_through_files(std::uint32_t dataset, Findings& findings);
  bool forget_lost(std::uint32_t dataset, bool sizes_are_known, Findings& findings);
  std::uint64_t forget_missing(std::uint32_t dataset, std::span<const FrameSeq> frames);
  void finish_reconciling(std::uint32_t dataset, const Findings& findings);
  bool is_everybodys(std::uint32_t dataset, const struct stat& copy) const;
  Status append(std::uint32_t dataset, FrameKind kind, std::span<const FrameSeq> added,
                std::span<const FrameSeq> forgotten, bool durable);

  const Config& config_;
  CacheDisk disk_;
  mutable DiskHealth health_;
  IndexFile index_;
  mutable TurnMutex names_mutex_;
  std::vector<DatasetFiles> files_;
  std::atomic<std::size_t> dataset_count_ = 0;  // of files_
  std::vector<std::pair<std::uint32_t, FrameSeq>> fetched_lately_;
  FullDirectories full_directories_;
  bool stopped_cleanly_ = true;
  std::atomic<bool> giving_up_ = false;

  struct RightsTurn {  // of one dataset
    std::mutex mutex;
    TableTurn frames;
    std::atomic<bool> index_due = false;
    std::optional<FrameDirectory> frame_directory;  // whose frames the copies are
  };
  std::array<RightsTurn, kMaxDatasets> rights_turns_;
  struct Mirrored {
    ReachedDirectories directories;  // up to the frame directory
    bool is_open = false;            // the cache's directories have their rights
    bool is_closed = false;          // nobody can search the dataset's own
  };

  mutable std::mutex mutex_;
  std::map<std::uint32_t, Mirrored> mirrored_;  // by dataset
  std::set<std::uint32_t> open_to_all_;         // datasets that everybody can reach
  Inventory inventory_;
  Eviction eviction_;
  std::vector<Pins> pins_;          // one for each dataset
  std::vector<bool> unreconciled_;  // by dataset
  std::condition_variable reconciled_;
  std::set<std::uint32_t> stuck_;  // cannot be reconciled at present
  Room reserved_;
  std::map<OwnerKey, std::uint64_t> reserved_natives_;  // bytes
  std::set<uid_t> owners_;
  std::uint64_t unallocated_bytes_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t synced_evictions_ = 0;  // whose room the disk has given back
};

}  // namespace zazen
