// DirectoryRights: who may reach the copies, where many users are served (D15,
// mirrored_rights.h).
//
// A copy gets its name only while the cache's directories have the rights of the directories
// through which its frame was found. If these directories or their rights have changed, the
// dataset's own directory in the cache is closed first, and opened last. In between, copies
// whose frames were found in another frame directory are dropped.
//
// Datasets share the directories above them. Another dataset may have seen other directories or
// rights there. That dataset is then closed until a worker looks at its origin again.
//
// Thread safe. Store describes the public functions that it passes on.
#pragma once
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/capacity/room_ledger.h"
#include "daemon/disk/cache_disk.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

class CopyFiles;

class DirectoryRights {
 public:
  DirectoryRights(const Config& config, const CacheDisk& disk) : config_(config), disk_(disk) {}

  bool is_mirrored(std::uint32_t dataset, const ReachedDirectories& reached) const;
  // True if everybody may read this copy. Everybody can read the index, so only such a copy is
  // in it.
  bool is_everybodys(std::uint32_t dataset, const struct stat& copy) const;
  // 0 if a copy whose frame was found through these directories may have a name. It then gives
  // the directories of the name below the dataset's own their rights. EAGAIN: the directories
  // are not mirrored.
  int grant_way(const NamesLock&, std::uint32_t dataset, int directory_fd,
                const std::string& below, const ReachedDirectories& reached) const;

  std::uint64_t begin_look(std::uint32_t dataset) { return ++turns_[dataset].looks; }
  void mirror_own_rights(CopyFiles& copies, std::uint32_t dataset, std::uint64_t look,
                         const std::optional<RightsAtOrigin>& now);
  std::optional<std::pair<uid_t, gid_t>> directory_owner(std::uint32_t dataset,
                                                         int directory_fd);
  bool is_index_due(std::uint32_t dataset) const { return turns_[dataset].index_due; }
  void begin_index(std::uint32_t dataset) { turns_[dataset].index_due = false; }
  std::vector<FrameSeq> next_names_to_mirror(const RoomLedger& ledger, std::uint32_t dataset);
  static void mirror_rights_of_names(const CopyFiles& copies, std::uint32_t dataset,
                                     const std::vector<FrameSeq>& frames,
                                     const std::vector<FrameRights>& rights);

 private:
  struct Turn {  // of one dataset: its looks are mirrored one after the other
    std::atomic<std::uint64_t> looks = 0;
    std::atomic<bool> index_due = false;
    std::mutex mutex;  // protects the three below
    std::uint64_t mirrored_look = 0;
    FrameCursor frames;
    std::optional<FrameDirectory> frame_directory;  // whose frames the copies are
  };
  struct TakenTurn {
    explicit TakenTurn(Turn& taken) : turn(taken), lock(taken.mutex) {}
    Turn* operator->() const { return &turn; }
    Turn& turn;
    const std::lock_guard<std::mutex> lock;
  };
  struct Mirrored {
    ReachedDirectories directories;  // up to the frame directory
    bool is_open = false;            // the cache's directories have their rights
    bool is_closed = false;          // nobody can search the dataset's own
  };

  // These three: 0 or an errno.
  int close_changed(const NamesLock&, const CopyFiles& copies, std::uint32_t dataset,
                    const ReachedDirectories& now);
  int move_to(const TakenTurn& turn, CopyFiles& copies, std::uint32_t dataset,
              const RightsAtOrigin& now);
  int mirror(const TakenTurn& turn, CopyFiles& copies, std::uint32_t dataset,
             const RightsAtOrigin& now);
  static void load_frame_directory(const TakenTurn& turn, int directory_fd);

  const Config& config_;
  const CacheDisk& disk_;
  std::array<Turn, kMaxDatasets> turns_;

  mutable std::mutex mutex_;                    // protects the two below; memory only
  std::map<std::uint32_t, Mirrored> mirrored_;  // by dataset
  std::set<std::uint32_t> open_to_all_;         // datasets that everybody can reach
};

}  // namespace zazen
