// SlowOrigin: the file server of the benchmarks (tests/fills/slow_origin, on FUSE), mounted on
// a dataset's directory. It throttles, delays and counts what it sends.
#pragma once
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/bench_place.h"

namespace zazen {

class SlowOrigin {
 public:
  // The frames are in `backing`, which is made. `rate` is in bytes a second, 0 for no limit.
  static SlowOrigin mount(const Programs& programs, const BenchLayout& layout,
                          std::uint64_t rate);

  // Written long ago, as far as anybody can see. With holes they are cheap to make.
  void make_frames(FrameSeq first, FrameSeq count, std::uint64_t bytes, bool has_holes) const;
  void control(const std::string& command) const;
  // Neither the node nor the kernel has anything of the frames.
  void forget(FrameSeq first, FrameSeq count) const;
  // The sum of a file of its accounts, ".sent" or ".requests"; of lines that end with `of`.
  std::uint64_t sum(const std::string& account, const std::string& of = {}) const;

 private:
  SlowOrigin(BenchLayout layout, ChildProcess process)
      : layout_(std::move(layout)), process_(std::move(process)) {}

  BenchLayout layout_;
  ChildProcess process_;
};

}  // namespace zazen
