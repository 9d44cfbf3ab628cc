// What is on disk is the truth: at the start the sequence logs are compared with the files
// of the dataset's cache directory (D4).
//
// A log entry without its file is forgotten. A file without a log entry is a copy whose
// daemon died between publishing and logging: if its identity attribute is there and its
// size is right, it goes into the log that the attribute names; otherwise it is removed,
// because a file under a frame's name is served. Files under other names are left alone. A
// frame in both logs is what its attribute says.
#pragma once
#include <sys/types.h>

#include "bodhi/config.h"
#include "bodhi/seqlog.h"
#include "daemon/inventory.h"

namespace zazen {

struct DatasetFiles {  // one dataset's part of the cache
  const DatasetConfig* config;
  UniqueFd directory;  // <cache><dataset path>
  SequenceLog native_log;
  SequenceLog alien_log;
};

struct Reconciled {
  std::uint64_t forgotten = 0;           // log entries without a file
  std::uint64_t adopted = 0;             // files without a log entry
  std::uint64_t removed = 0;             // files that are no whole copies
  std::vector<FrameSeq> fetched_lately;  // aliens that may still be young (young_copies.h)
};

Result<Reconciled> reconcile(DatasetFiles& files, dev_t cache_dev, std::uint32_t dataset,
                             Inventory& inventory);

}  // namespace zazen
