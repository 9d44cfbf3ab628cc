// Store: the copies that this node holds, on disk and in memory. It opens no socket and no file
// of an origin.
//
// A copy comes in three steps. reserve() gets its room. The caller writes it to a temporary.
// name_copies() flushes the data of a batch, gives each file its name, and flushes the names.
// confirm_copies() appends to the log and flushes it. So a crash at any point leaves whole
// copies or none, and a published copy is durable. If there is no room, aliens are evicted or
// the copy is refused: see eviction.h (D16).
//
// Store is the one interface to its parts: RoomLedger (which frames are held, and the room),
// CopyFiles (names and logs) and DirectoryRights (who may reach the copies). Each part has the
// locks of its own data. Thread safe.
//
// The order of the locks: first a dataset's turn in DirectoryRights, then the NamesLock of
// CopyFiles, then the mutex of RoomLedger or that of DirectoryRights, never both.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/capacity/room_ledger.h"
#include "daemon/disk/cache_disk.h"
#include "daemon/disk/clean_mark.h"
#include "daemon/disk/disk_health.h"
#include "daemon/origin/access_list.h"
#include "daemon/store/copy_files.h"
#include "daemon/store/directory_rights.h"

namespace zazen {

class Store {
 public:
  static constexpr std::size_t kSmallBatch = CopyFiles::kSmallBatch;

  // Believes the tables of a clean stop, or else replays the logs. The caller holds the cache's
  // lock. The configuration must outlive the store. The errors are whole sentences.
  static Result<std::unique_ptr<Store>> open(const Config& config, CacheDisk disk);
  // True if open() found everything as a clean stop had left it.
  bool stopped_cleanly() const { return stopped_cleanly_; }
  // True if files and logs agree, and all sizes are known. From the start, if the stop was
  // clean.
  bool is_reconciled() const { return ledger_.is_reconciled(); }
  // Compares the files with the entries, and puts them into the index. Takes seconds for
  // millions of copies. Returns adopted aliens that may still be young (trust.h).
  std::vector<FrameSeq> reconcile(std::uint32_t dataset);
  // Datasets for which reconcile() failed, because the disk did not answer.
  std::set<std::uint32_t> not_reconciled() const { return ledger_.not_reconciled(); }
  // For the stop: ends the reconciliation and all calls that wait for it.
  void give_up_reconciling() { ledger_.give_up_reconciling(); }
  // The last call: it writes down the state that the next start may believe.
  void stop_cleanly(bool trusted = true);  // false: copies are in doubt

  const CacheDisk& disk() const { return disk_; }
  DiskHealth& health() const { return health_; }
  const DatasetConfig& dataset(std::uint32_t index) const { return config_.datasets[index]; }
  std::size_t datasets() const { return copies_.datasets(); }
  std::string name_of(std::uint32_t dataset, FrameSeq seq) const {
    return copies_.dataset(dataset).name_of(seq);
  }
  bool serves_all_users() const { return config_.all_users; }
  // These functions are for the users who may reach the copies (mirrored_rights.h). A look at
  // the origin begins with begin_look(). Its result counts unless a later one is mirrored
  // already. If the frames are in another directory than at the last look, all copies are
  // dropped. If not everybody may reach the copies, the index has none of them on return. Where
  // only one user is served they do nothing.
  std::uint64_t begin_look(std::uint32_t dataset) { return rights_.begin_look(dataset); }
  void mirror_own_rights(std::uint32_t dataset, std::uint64_t look,
                         const std::optional<RightsAtOrigin>& now) {
    rights_.mirror_own_rights(copies_, dataset, look, now);
  }
  // The user who owned the frame directory when it was last mirrored, and its group.
  std::optional<std::pair<uid_t, gid_t>> directory_owner(std::uint32_t dataset) {
    return rights_.directory_owner(dataset, copies_.dataset(dataset).directory.get());
  }
  bool is_mirrored(std::uint32_t dataset, const ReachedDirectories& reached) const {
    return rights_.is_mirrored(dataset, reached);
  }
  // True if everybody may reach the copies again: the index lacks them until they are
  // reconciled.
  bool is_index_due(std::uint32_t dataset) const { return rights_.is_index_due(dataset); }
  // The same for directories that single frames have in their names, some frames at a time.
  std::vector<FrameSeq> next_names_to_mirror(std::uint32_t dataset) {
    return rights_.next_names_to_mirror(ledger_, dataset);
  }
  void mirror_rights_of_names(std::uint32_t dataset, const std::vector<FrameSeq>& frames,
                              const std::vector<FrameRights>& rights) {
    DirectoryRights::mirror_rights_of_names(copies_, dataset, frames, rights);
  }
  // Identifies the index of this store, for the table that is published with it.
  std::uint64_t instance() const { return copies_.index_instance(); }

  // For a reload. The first call makes the directory of a new dataset. The second adds the
  // dataset, when it is the last one of the configuration. Its files must then be reconciled.
  Result<UniqueFd> make_directory(const DatasetConfig& dataset,
                                  Flush flush = Flush::kAll) const;
  Status add_dataset(UniqueFd directory);
  // Evicts copies beyond the limits, which may have been lowered.
  void keep_limits();

  std::optional<HeldFrame> find(std::uint32_t dataset, FrameSeq seq) const {
    return ledger_.find(dataset, seq);
  }
  // Held, without access to the file; not a copy that is being removed.
  bool has_lost(std::uint32_t dataset, FrameSeq seq) const {
    return copies_.has_lost(dataset, seq);
  }
  // The copy's file, also that of a native that waits. Not valid, with errno, if it cannot be
  // opened.
  UniqueFd open_copy(std::uint32_t dataset, FrameSeq seq) const {
    return copies_.open_copy(dataset, seq);
  }
  // Reads the copy's attribute from its file: 0 or an errno; ENOENT if the file is gone.
  int read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const {
    return copies_.read_copy_identity(dataset, seq, out);
  }
  StoreUsage usage() const { return ledger_.usage(); }
  std::vector<StoredFrame> list(std::uint32_t dataset) const {  // ascending
    return ledger_.list(dataset);
  }
  // At most `limit` held frames with numbers of `first` and more, ascending.
  std::vector<FrameSeq> frames_from(std::uint32_t dataset, FrameSeq first,
                                    std::size_t limit) const {
    return ledger_.frames_from(dataset, first, limit);
  }
  // The first, the last, the newest, and some at random.
  std::vector<FrameSeq> sample(std::uint32_t dataset, std::size_t at_random) const {
    return ledger_.sample(dataset, at_random);
  }

  // Aliens that were fetched shortly before the store was opened, by dataset.
  const std::vector<std::pair<std::uint32_t, FrameSeq>>& fetched_lately() const {
    return fetched_lately_;
  }

  // The dataset's directory takes no more names at the moment, so nothing of it should be
  // fetched.
  bool directory_is_full(std::uint32_t dataset) const {
    return copies_.directory_is_full(dataset);
  }

  // The opens since the last call, and their datasets: idle datasets are evicted first.
  void note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets) {
    ledger_.note_fills(fills, datasets);
  }
  // Not valid if there is no room and none can be made, or if the natives of `owner` would
  // exceed their share. A native that needs room waits until the store is reconciled. Until
  // then no copy is evicted for an alien.
  Reservation reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes,
                      Wanted wanted = Wanted::kNow, uid_t owner = kNoUser);
  // Charges the reserved native to this owner. 0 or EDQUOT.
  int assign(Reservation& room, std::uint32_t dataset, uid_t owner) {
    return ledger_.assign(room, dataset, owner);
  }
  // Users who own frames that have copies here.
  std::vector<uid_t> owners() const { return ledger_.owners(); }
  // Reserves more bytes for a copy that is larger than its reservation. 0 or an errno.
  int reserve_more(Reservation& room, std::uint32_t dataset, FrameKind kind,
                   std::uint64_t bytes, Wanted wanted);
  // Takes the room on the disk: `take` gives 0 or an errno. If the disk is full before its
  // limit (ENOSPC, EDQUOT), aliens are evicted as in a full cache, and `take` is tried again.
  int allocate(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes, Wanted wanted,
               const std::function<int()>& take);
  Temporary make_temporary(std::uint32_t dataset) const {
    return copies_.make_temporary(dataset);
  }
  // Gives the copies their names. Where all users are served, a copy whose frame was found
  // through directories that are not mirrored gets no name: EAGAIN.
  void name_copies(std::span<FinishedCopy> batch) { copies_.name_copies(batch); }
  // The second half. Between the two the caller looks at the origins again: a copy to which it
  // gives another status than 0 loses its name. A program that changes the origin after that
  // look finds the copy under its name, and drops it.
  void confirm_copies(std::span<FinishedCopy> batch) { copies_.confirm_copies(batch); }
  // Instead of confirm_copies(), if memory was refused: the file loses its name.
  void give_up(FinishedCopy& copy) { copies_.give_up(copy); }

  // Natives whose frame the origin does not have yet: held, and not served.
  bool is_waiting(std::uint32_t dataset, FrameSeq seq) const {
    return copies_.dataset(dataset).waiting->contains(seq);
  }
  std::uint64_t waiting(std::uint32_t dataset) const {
    return copies_.dataset(dataset).waiting->size();
  }
  // Gives such a native, open as `copy`, this identity and its name, and where all users are
  // served these readers. 0 or an errno; ENOENT: it does not wait; EAGAIN: as in name_copies().
  int adopt(std::uint32_t dataset, FrameSeq seq, UniqueFd copy, const struct stat& origin,
            const AccessList& readers, const ReachedDirectories& reached) {
    return copies_.adopt(dataset, seq, std::move(copy), origin, readers, reached);
  }

  // Copies that may get a name, for the table.
  PendingCopies& pending() { return pending_; }

  // Suspends the copy of a frame that a program may write to: it is held, and not served
  // (suspended_copies.h). 0; ENOENT if there is no copy; on another errno the caller drops the
  // copy.
  int suspend(std::uint32_t dataset, FrameSeq seq) { return copies_.suspend(dataset, seq); }
  // Serves the copy again. 0 or an errno; EAGAIN: another epoch has begun.
  int restore(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch) {
    return copies_.restore(dataset, seq, epoch);
  }
  // For a frame that was written and has the same bytes. Its suspended copy, open as `copy`,
  // gets this identity, and `readers` where all users are served. 0 or an errno.
  int renew(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch, UniqueFd copy,
            const struct stat& origin, const AccessList& readers) {
    return copies_.renew(dataset, seq, epoch, std::move(copy), origin, readers);
  }
  bool is_suspended(std::uint32_t dataset, FrameSeq seq) const {
    return copies_.dataset(dataset).suspended->contains(seq);
  }
  std::uint64_t epoch(std::uint32_t dataset, FrameSeq seq) const {  // 0: it is not suspended
    return copies_.dataset(dataset).suspended->epoch(seq);
  }
  std::vector<FrameSeq> suspended(std::uint32_t dataset) const {
    return copies_.dataset(dataset).suspended->frames();
  }

  // Turns an alien into a native. 0 or an errno.
  int promote(std::uint32_t dataset, FrameSeq seq) { return copies_.promote(dataset, seq); }
  // Removes copies durably. Frames that are not held are no error.
  Amount drop(std::uint32_t dataset, std::span<const FrameSeq> frames) {
    return copies_.drop(dataset, frames);
  }
  // The same for copies that are still under their names. Without `durable` a crash may bring
  // them back, and then no copy is trusted.
  Amount drop_exactly(std::uint32_t dataset, std::span<const ExactCopy> copies,
                      bool durable = true) {
    return copies_.drop_exactly(dataset, copies, durable);
  }
  using Selection = FrameSelection;
  struct Evicted {
    Amount gone;
    std::uint64_t pinned = 0;  // frames of the selection that stay
    int status = 0;            // 0: no crash brings them back; or an errno
  };
  Evicted evict(std::uint32_t dataset, const Selection& selection);
  // Pinned frames stay until they are unpinned, changed or lost, also over a restart. 0 or an
  // errno; *held is the held part of the range.
  int pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held);

  // Keeps an encoded listing of the origin for the dataset (D20). 0 or an errno; EAGAIN: as in
  // name_copies().
  int keep_listing(std::uint32_t dataset, const std::string& encoded,
                   const ReachedDirectories& reached) {
    return copies_.keep_listing(dataset, encoded, reached);
  }

 private:
  Store(const Config& config, CacheDisk disk)
      : config_(config),
        disk_(std::move(disk)),
        health_([this] { return disk_.probe(); }),
        ledger_(config, disk_),
        rights_(config, disk_),
        copies_(config, disk_, health_, ledger_, rights_) {}
  // Loads the next dataset of the configuration. True if its content is known: it is new, or as
  // a clean stop left it.
  Result<bool> load(const NamesLock& names, UniqueFd directory,
                    const std::optional<CleanMark>& mark, bool is_new);
  Reservation reserve(const Claim& claim);
  Reservation try_reserve(const Claim& claim);
  bool is_room_to_come(std::uint64_t synced) const;
  bool make_room(const Claim& claim);

  const Config& config_;
  CacheDisk disk_;
  PendingCopies pending_;
  mutable DiskHealth health_;
  RoomLedger ledger_;
  DirectoryRights rights_;
  CopyFiles copies_;
  std::vector<std::pair<std::uint32_t, FrameSeq>> fetched_lately_;
  bool stopped_cleanly_ = true;
};

}  // namespace zazen
