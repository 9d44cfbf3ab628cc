// FrameState: a frame at the origin and in the cache, and the result of an open for reading. It
// is for a program that starts at this moment, by the rule of programs
// (bodhi/lean/frames/copy_rule.h).
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

#include "bodhi/lean/requests/local_copy.h"
#include "tools/support/path_meaning.h"
#include "tools/support/table_state.h"

namespace zazen {

struct OriginState {
  int error = 0;       // of lstat; 0: it is there
  int open_error = 0;  // why it could not be opened for reading; 0: it can
  struct stat st = {};
};
OriginState origin_state(const std::string& path);

struct CopyState {
  int error = ENOENT;         // why it cannot be opened; 0: it is there
  bool is_suspended = false;  // held, without a name: somebody may write to the frame
  Comparison comparison = Comparison::kNotMade;  // with the origin, if it is there
  OriginIdentity identity = {};                  // the origin's, if the copy has one
  std::vector<std::string> differs;  // from the origin: "size", "mtime", "ctime", "ino"

  bool is_as_origin() const { return comparison == Comparison::kSame; }
  bool has_identity() const { return comparison != Comparison::kNoIdentity; }
};

struct Reading {
  enum From { kCache, kOrigin, kNothing };
  From from = kOrigin;
  std::string because;  // a phrase; for kNothing the error
  std::string then;     // the effect of the miss; "" if none
};

struct FrameState {
  OriginState origin;
  CopyState copy;
  std::string check;  // when a copy is compared with the origin, and why
  Reading reading;
};

FrameState frame_state(const TableState& daemon, const KnownDataset& dataset, FrameSeq seq);

// The same question for a file that is no frame.
Reading reading_of_ordinary(const std::string& path, const std::string& rule);

}  // namespace zazen
