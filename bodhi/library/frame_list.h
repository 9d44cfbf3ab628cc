// FrameList: the frames that a program would see in a dataset's directory. In a divided job
// they come from the view that the ranks have agreed on (D13), else from the directory itself.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/frames/frame_name.h"
#include "bodhi/lean/frames/view.h"

namespace zazen {

// "/sim1/" is "/sim1".
std::string without_slashes(std::string path);

class FrameList {
 public:
  // With the view of this process's job, if that job is divided and has the dataset.
  explicit FrameList(const std::string& dataset);
  ~FrameList();
  FrameList(const FrameList&) = delete;
  FrameList& operator=(const FrameList&) = delete;

  bool is_divided() const { return divided_ != nullptr; }
  // Ascending: all frames of the range; of a divided job only those of this rank, if `own`.
  Result<std::vector<FrameSeq>> frames(const FrameName& name, bool own, FrameRange range) const;

 private:
  const std::string dataset_;
  const View* view_ = nullptr;
  Tally* tally_ = nullptr;
  const ViewDataset* divided_ = nullptr;  // in the view
};

}  // namespace zazen
