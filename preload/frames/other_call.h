// CallBeside: counts one call for a file beside the frames, which is no frame, for the job
// (bodhi/lean/run/other_files.h), with its duration.
//
// A path is beside the frames if it begins with a dataset's path. Another path is looked up
// only if it is relative and its call is a slow open: then a stat is cheap in comparison. Only
// jobs under `zazenctl run` count; in other processes first_look answers no.
#pragma once
#include "bodhi/lean/run/other_files.h"
#include "preload/process/first_look.h"

namespace zazen {

class CallBeside {
 public:
  CallBeside(int dirfd, const char* path, OtherCall call)
      : path_(path), dirfd_(dirfd), call_(call) {
    if (is_wanted(path, call)) [[unlikely]]
      begin();
  }
  ~CallBeside() {
    if (began_ns_ != 0) [[unlikely]]
      end();
  }
  CallBeside(const CallBeside&) = delete;
  CallBeside& operator=(const CallBeside&) = delete;

  static bool is_wanted(const char* path, OtherCall call) {
    return first_look.may_be_beside(path) ||
           (call != OtherCall::kStat && first_look.may_be_beside_by_file(path));
  }

 private:
  void begin();
  void end();

  const char* path_;
  int dirfd_;
  OtherCall call_;
  std::int64_t began_ns_ = 0;
};

}  // namespace zazen
