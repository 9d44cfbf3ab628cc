// DiskRecorder: records every libc call by which the store changes the cache's disk. The test
// program is linked with --wrap for each of them (CMakeLists.txt has the list). A call is made
// and recorded under one lock, so the order of the record is the order on the disk.
//
// A kind of call that is not wrapped does not go unnoticed: tree(), built from the record, then
// differs from what is on the disk.
#pragma once
#include <string>
#include <vector>

#include "tests/fault/disk_change.h"

namespace zazen::disk_recorder {

void begin(const std::string& directory);  // what is there already is taken as flushed
void note(const Word& word);
struct Record {
  FileTree before;
  FileTree after;
  std::vector<DiskChange> changes;
};
Record end();

// Flushes return at once: for a cache that is thrown away.
void skip_flushes(bool skip);

}  // namespace zazen::disk_recorder
