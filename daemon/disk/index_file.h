// IndexFile: the daemon's side of the identity index (bodhi/lean/frames/identity_index.h).
//
// The index makes stat fast and is never needed: for a missing entry the shim asks the copy
// itself. An entry is left out if the file cannot be made or has no room. There is no index
// where a quota could become a SIGBUS (mapped_file.h). Each start makes the file anew. Thread
// safe.
#pragma once
#include <sys/stat.h>

#include <mutex>
#include <string>

#include "bodhi/lean/frames/identity_index.h"

namespace zazen {

class IndexFile {
 public:
  static constexpr std::uint32_t kFewestSlotsLog2 = 12;

  explicit IndexFile(const std::string& runtime, std::uint32_t slots_log2 = kFewestSlotsLog2,
                     bool for_all_users = false);
  ~IndexFile();  // removes the file
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  std::uint64_t instance() const { return instance_; }

  // Makes room for this many at once.
  void reserve(std::uint64_t copies);
  // `local` is the copy's own stat, taken after it got its name, which changes its ctime.
  void add(std::uint32_t dataset, const struct stat& local, const OriginIdentity& identity);
  // The caller calls this before the copy's inode number can be used again.
  void remove(ino_t local_ino);
  // Removes all copies of a dataset.
  void remove_dataset(std::uint32_t dataset);

 private:
  IdentityIndex* make(std::uint32_t slots_log2);  // null if it fails
  void grow(std::uint64_t wanted);                // live entries for which there must be room
  bool insert(const IndexEntry& entry);

  std::string path_;
  const bool for_all_users_;
  std::uint64_t instance_ = 0;
  std::mutex mutex_;
  IdentityIndex* index_ = nullptr;  // null: there is none
  std::uint64_t used_ = 0;          // slots that are not free, removed ones included
  std::uint64_t live_ = 0;
};

}  // namespace zazen
