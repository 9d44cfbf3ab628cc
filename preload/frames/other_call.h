// CallBeside: counts one call for a file beside the frames, which is no frame, for the job
// (bodhi/lean/run/other_files.h), with its duration.
//
// A path is beside the frames if it begins with a dataset's path. Another path is looked up
// only if it is relative and its call is a slow open: then a stat is cheap in comparison. The
// kernel tells the path of an open file. Only jobs under `zazenctl run` count; in other
// processes path_prefilter answers no.
#pragma once
#include <fcntl.h>

#include "bodhi/lean/run/other_files.h"
#include "preload/process/node.h"

namespace zazen {

class CallBeside {
 public:
  CallBeside(int dirfd, const char* path, OtherCall call)
      : path_(path), dirfd_(dirfd), call_(call) {
    if (is_wanted(path, call)) [[unlikely]]
      begin();
  }
  // A stat of an open file.
  explicit CallBeside(int fd) : path_(nullptr), dirfd_(fd), call_(OtherCall::kStat) {
    if (path_prefilter.counts_beside()) [[unlikely]]
      begin();
  }
  ~CallBeside() {
    if (began_ns_ != 0) [[unlikely]]
      end();
  }
  CallBeside(const CallBeside&) = delete;
  CallBeside& operator=(const CallBeside&) = delete;

  static bool is_wanted(const char* path, OtherCall call) {
    return path_prefilter.may_be_beside(path) ||
           (call != OtherCall::kStat && path_prefilter.may_be_beside_by_file(path));
  }

 private:
  void begin();
  void end();
  void end_stat_of_open(std::int64_t taken_ns);
  void note(const Node& node, std::uint32_t dataset, const char* name, std::int64_t taken_ns);

  const char* path_;
  int dirfd_;
  OtherCall call_;
  std::int64_t began_ns_ = 0;
};

// A stat of a dataset's directory, or of a file in it that is no frame.
template <class Forward>
[[gnu::noinline]] int stat_beside(const char* path, Forward forward) {
  CallBeside call(AT_FDCWD, path, OtherCall::kStat);
  return forward();
}

// A stat of an open file, or another question for its size.
template <class Forward>
auto stat_open(int fd, Forward forward) {
  CallBeside call(fd);
  return forward();
}

}  // namespace zazen
