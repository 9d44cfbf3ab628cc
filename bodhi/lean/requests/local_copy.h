// LocalCopy: a frame's copy in the local cache as one process meets it: opening it by the rule
// (copy_rule.h), asking for it, dropping it.
//
// The shim and libbodhi's reader use the same calls. A copy that is there under its name is
// whole (D6). A hit makes no call to the daemon, but for the sample when a process first uses a
// dataset and again after half a minute, and for a turn at a spinning disk (D17). errno is
// kept. Lean.
#pragma once
#include <sys/types.h>

#include <atomic>

#include "bodhi/lean/frames/copy_rule.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/requests/daemon_request.h"

namespace zazen {

struct DirectoryKey {
  dev_t dev;
  ino_t ino;
  bool operator==(const DirectoryKey&) const = default;
};

// By raw system calls; false if the path leads to no directory.
bool directory_key(const char* path, DirectoryKey* key);

// DirectoryWatch: where a dataset's frame directory is, and whether this process may search it.
//
// The directory is looked up at first use and again every 30 s. So a replaced directory, or a
// loss of access, is noticed (D15). After a failure the next look-up is a second later. Zeroed
// memory is a watch without a look-up. Readable without a lock.
class DirectoryWatch {
 public:
  // False if the directory cannot be reached. *key: where it was found last (ino 0: never).
  bool look(const char* dataset, const FrameName& name, std::int64_t now_ms,
            DirectoryKey* key) {
    if (!has_looked(now_ms)) [[unlikely]]
      look_anew(dataset, name, now_ms);
    *key = {dev_.load(std::memory_order_relaxed), ino_.load(std::memory_order_relaxed)};
    return reachable_.load(std::memory_order_relaxed);
  }
  // True within this time: look() does not access the file system.
  bool has_looked(std::int64_t now_ms) const {
    const std::int64_t looked_at_ms = looked_at_ms_.load(std::memory_order_acquire);
    return looked_at_ms != 0 && now_ms - looked_at_ms <= kAgainMs;
  }
  void forget() { looked_at_ms_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kAgainMs = 30'000;
  void look_anew(const char* dataset, const FrameName& name, std::int64_t now_ms);

  std::atomic<std::uint64_t> dev_;  // where it was found last
  std::atomic<std::uint64_t> ino_;
  std::atomic<bool> reachable_;
  std::atomic<std::int64_t> looked_at_ms_;  // 0: never
};

// The knowledge of one process about a dataset's directory and copies. Zeroed memory knows
// nothing.
struct CopyTrust {
  DirectoryWatch directory;
  std::atomic<std::int64_t> looked_at_ms;      // at the copies, with a sample; 0: never
  std::atomic<std::int64_t> looking_since_ms;  // 0: nobody is
  // A copy was stale, or the daemon could not say. Not the table's `doubts`: the daemon may not
  // have heard of the stale copy, and then marks nothing.
  std::atomic<bool> distrusted;

  // The next table of the same daemon is about the same copies.
  void take_over(const CopyTrust& old) {
    looked_at_ms = old.looked_at_ms.load();
    distrusted = old.distrusted.load();
  }
};

struct LocalCopy {
  DaemonLink& daemon;
  const Table& table;
  const TableDataset& dataset;
  const FrameName& frames;
  CopyTrust& trust;
  const char* path;  // <cache><origin's path> (D4)
  std::int64_t now_ms;
  bool is_alive;                  // the daemon serves
  std::int64_t job_began_ms = 0;  // samples from before do not count; 0: this is no MPI job

  const char* origin() const;
  const char* name() const;  // of the frame, relative to the dataset
  long look() const;         // 0, or a negative errno
  bool is_there() const { return look() == 0; }
  int ask(DaemonRequest request) const;  // about this frame, or for a sample its dataset
};

// The facts about the dataset, which are known before the copy is looked at.
inline CopyFacts dataset_facts(const LocalCopy& copy, DirectoryKey* directory) {
  CopyFacts facts;
  if (!copy.is_alive || copy.dataset.removed != 0) return facts;
  facts.dataset = &copy.dataset;
  facts.directory_is_open =
      copy.trust.directory.look(copy.dataset.path, copy.frames, copy.now_ms, directory);
  facts.is_distrusted = copy.trust.distrusted.load(std::memory_order_relaxed);
  return facts;
}

// An fd of the copy, or -1: read the origin.
int open_local_copy(const LocalCopy& copy, int flags);

// May a copy of this identity speak for its origin? False: it is stale, and gone by now.
bool confirm_identity(const LocalCopy& copy, const OriginIdentity& identity);

Comparison compare_with_origin(const OriginIdentity& identity, const char* origin);
Comparison compare_with_origin(int copy_fd, const char* origin);

// Asks the daemon to compare a sample of the dataset's copies with the origin (D10).
bool request_sample(const LocalCopy& copy);

// Tells the user's worker of a miss by its news: the origin and the daemon are asked nothing.
// False: nobody reads them.
bool announce_miss(ProgramNews& news, std::uint32_t dataset, FrameSeq seq, int origin_fd);
// Hands the origin's fd to the daemon. With `waits`, true says that the copy is there now.
bool request_fill(const LocalCopy& copy, int origin_fd, bool waits);
// An fd of the copy that was waited for, or -1. It is of the very file that was opened: a
// program in another mount namespace may have found another one by the same name.
int open_filled_copy(const char* path, int flags, int origin_fd);

// The state in which a process finds a frame that it has just changed.
enum class CopyLeft {
  kNone,     // neither a copy nor one that could get the name: nobody needs to be told
  kNamed,    // a copy
  kUnknown,  // the daemon alone knows
};
CopyLeft look_for_copy(const LocalCopy& copy, FrameSeq seq);

// The copy of a frame that is about to change, as the process finds it then.
struct CopyBefore {
  enum Name : std::uint8_t { kUnknown, kFree, kTaken, kRemoved };  // kRemoved: by this process

  Name name = kUnknown;
  std::uint64_t pending = 0;   // the frame's slot, read before the name was looked for
  std::uint64_t instance = 0;  // of the daemon

  // By the result of a system call that has looked for the name.
  static Name name_by(long result) {
    return result >= 0 ? kTaken : result == -ENOENT ? kFree : kUnknown;
  }
};
// The caller looks for the name then.
inline CopyBefore before_change(const Table& table, std::uint32_t dataset, FrameSeq seq) {
  return {CopyBefore::kUnknown, table.pending[pending_slot(dataset, seq)].load(),
          table.instance};
}
// After the change: one system call where there was no copy and none has come since, none where
// the process has removed it. Otherwise it looks for one.
CopyLeft look_again_for_copy(const LocalCopy& copy, FrameSeq seq, const CopyBefore& before);

// Takes the copy's name, which the daemon has to hear of. 0, or a negative errno: it is not
// ours, or not there.
long remove_copy(const LocalCopy& copy);

// The frame changes (flags 0), is opened for writing (kOpenForWriting), or its copy is stale
// (kFoundStale). If the daemon does not answer, the copy's name is removed here: the files are
// the truth, and the daemon's logs follow them (D4). If that cannot be either (the copy is
// root's, and no descriptor is free), it is noted as untold. True: the daemon did it.
bool drop_copy(const LocalCopy& copy, std::uint32_t flags);

}  // namespace zazen
