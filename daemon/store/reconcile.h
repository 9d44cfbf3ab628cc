// The state of one dataset's part of the cache at a start, and which of it is true (D4, D22).
//
// After a clean stop the tables of the inventory are believed at once. Otherwise the sequence
// logs are replayed, which say what is held, but not how large it is. The files are the truth,
// and a background task compares all of them. A log entry without a file is forgotten. A file
// without an entry is a copy whose daemon died between publishing and logging. If it has an
// identity attribute and the right size, it is held as the kind that the attribute says.
// Otherwise it is removed, because a file under a frame's name is served. Files under other
// names are left alone. A frame in both logs has the kind that its attribute says.
#pragma once
#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "bodhi/config/config.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/node/seqlog.h"
#include "daemon/capacity/inventory.h"
#include "daemon/disk/waiting_natives.h"
#include "daemon/store/suspended_copies.h"

namespace zazen {

std::string frame_name(const DatasetConfig& config, FrameSeq seq);

struct DatasetFiles {  // one dataset's part of the cache
  const DatasetConfig* config;
  UniqueFd directory;  // <cache><dataset path>
  std::unique_ptr<WaitingNatives> waiting;
  std::unique_ptr<SuspendedCopies> suspended;

  std::string name_of(FrameSeq seq) const;
  // The directory and the name of the frame's file, if there is one.
  std::pair<int, std::string> place_of(FrameSeq seq) const;
  // Loads which copies are not under their names, unless that is known: 0 or an errno.
  int load_unserved() const;
};

struct DatasetLogs {
  SequenceLog native;
  SequenceLog alien;

  SequenceLog& log(FrameKind kind) { return kind == FrameKind::kNative ? native : alien; }
};

struct LoadedDataset {
  DatasetFiles files;
  DatasetLogs logs;
  HeldTables held;
  bool resumed;  // a clean stop left it
};
// A clean stop has flushed all directories, an earlier process that was killed perhaps none.
inline Flush flush_at_start(bool stopped_cleanly) {
  return stopped_cleanly ? Flush::kMade : Flush::kAll;
}
// Opens the logs. The held frames come from the tables if they were sealed with this stamp (0
// is none), else from the logs. `index` is the dataset's. The errors are whole sentences.
Result<LoadedDataset> load_dataset(const DatasetConfig& config, UniqueFd directory,
                                   int cache_state_fd, std::uint64_t stamp,
                                   PendingCopies& pending, std::uint32_t index);

// Aliens that may still be young (trust.h): the last ones of the alien log.
std::vector<FrameSeq> fetched_lately(const DatasetFiles& files, const SequenceLog& aliens);

class CopyNames {  // reads the frames that have a name below a directory of copies, in parts
 public:
  static Result<CopyNames> open(const DatasetConfig& dataset, int directory_fd);
  CopyNames(CopyNames&& other) noexcept;
  CopyNames& operator=(CopyNames&&) = delete;
  ~CopyNames();
  // At most `count` frames; none at the end.
  std::vector<FrameSeq> next(std::size_t count);

 private:
  CopyNames(const FrameName& name, DIR* directory) : name_(name), directory_(directory) {}
  const FrameName& name_;
  DIR* directory_;  // null: there is none
};

struct FoundCopy {
  enum class State { kGone, kUnreadable, kDirectory, kWhole, kBroken } state = State::kGone;
  FrameKind kind = FrameKind::kAlien;
  bool waits = false;  // for its identity
  bool is_suspended = false;
  struct stat local = {};
  std::optional<OriginIdentity> identity;
};
// Examines the file under a frame's name, or the copy that has none. `held` is the entry of the
// logs.
FoundCopy look_at_copy(const DatasetFiles& files, FrameSeq seq, dev_t cache_dev,
                       const std::optional<HeldFrame>& held);

}  // namespace zazen
