// FrameState: a frame at the origin and in the cache, and what an open for reading does with
// it in a program that starts now. The order of the questions is preload/cached_copy.cc's.
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

#include "bodhi/identity.h"
#include "tools/path_meaning.h"
#include "tools/table_state.h"

namespace zazen {

struct OriginState {
  int error = 0;       // of lstat; 0: it is there
  int open_error = 0;  // why it could not be opened for reading; 0: it can
  struct stat st = {};
};
OriginState origin_state(const std::string& path);

struct CopyState {
  int error = ENOENT;                // why it cannot be opened; 0: it is there
  bool is_suspended = false;         // held, without a name: somebody may write to the frame
  bool has_identity = false;         // what the origin said of it, kept with the copy
  OriginIdentity identity = {};      // if it has one
  std::vector<std::string> differs;  // from the origin: "size", "mtime", "ctime", "ino"

  bool is_as_origin() const { return has_identity && differs.empty(); }
};

struct Reading {
  enum From { kCache, kOrigin, kNothing };
  From from = kOrigin;
  std::string because;  // a phrase; for kNothing the error
  std::string then;     // what the miss starts; "" if nothing
};

struct FrameState {
  OriginState origin;
  CopyState copy;
  bool checked = false;    // a copy is compared with the origin before a new program uses it
  bool by_sample = false;  // only the first use, and a sample
  std::string check;       // when that is done, and why
  Reading reading;
};

FrameState frame_state(const TableState& daemon, const KnownDataset& dataset, FrameSeq seq);

// The same question for what is no frame.
Reading reading_of_ordinary(const std::string& path, const std::string& rule);

}  // namespace zazen
