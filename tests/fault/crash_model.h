// CrashModel: the trees that a crash could leave behind, given the record of a run.
//
// A process that is killed leaves all that it did: a prefix of the record. When the power
// fails, what was flushed is there; of the rest any part may be, in any order: names, modes,
// attributes and bytes know nothing of each other, a write may be torn at a block (a small one
// anywhere), and a file may have its new size without its bytes. fdatasync covers a file's
// bytes and size, fsync of a directory the names in it (not those below), syncfs everything. A
// rename happens or does not. That is less than ext4 and xfs promise, on purpose.
#pragma once
#include <random>
#include <vector>

#include "tests/fault/disk_recorder.h"

namespace zazen {

class CrashModel {
 public:
  explicit CrashModel(const disk_recorder::Record& record);

  std::size_t changes() const { return record_.changes.size(); }
  const DiskChange& change(std::size_t index) const { return record_.changes[index]; }

  // After the first `length` changes:
  FileTree process_died(std::size_t length) const;
  FileTree power_lost(std::size_t length) const;  // everything that could be lost
  FileTree power_lost(std::size_t length, std::mt19937_64& random) const;
  // How many of them could be lost.
  std::size_t unflushed(std::size_t length) const;

 private:
  const disk_recorder::Record& record_;
  std::vector<std::size_t> flushed_by_;  // the first flush that covers each change
};

}  // namespace zazen
