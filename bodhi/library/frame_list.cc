#include "bodhi/library/frame_list.h"

#include <cstdlib>
#include <cstring>

#include "bodhi/node/listing.h"

namespace zazen {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

FrameList::FrameList(const std::string& dataset) : dataset_(without_slashes(dataset)) {
  const char* directory = ::secure_getenv(kViewVariable);
  if (directory == nullptr || !map_view(directory, &view_, &tally_)) return;
  for (std::uint32_t i = 0; i < view_->dataset_count; ++i) {
    if (dataset_ == view_->datasets[i].path) divided_ = &view_->datasets[i];
  }
}

FrameList::~FrameList() {
  if (view_ != nullptr) unmap_view(view_, tally_);
}

Result<std::vector<FrameSeq>> FrameList::frames(const FrameName& name, bool own,
                                                FrameRange range) const {
  std::vector<FrameSeq> found;
  auto take = [&](FrameSeq seq) {
    if (range.contains(seq)) found.push_back(seq);
  };
  if (divided_ == nullptr) {
    const std::string directory = frame_directory(dataset_, name);
    Result<Listing> listing = list_directory(directory, name);
    if (!listing) {
      const int code = listing.error().code;
      return Error{code, directory + ": " + std::strerror(code), {}};
    }
    for (FrameSeq seq : listing->frames) take(seq);
  } else if (own) {
    for (std::uint64_t i = 0; i < divided_->own_count; ++i) {
      take(own_frame(*view_, *divided_, i).seq);
    }
  } else {
    const ViewRun* runs = domain_runs(*view_, *divided_);
    for (std::uint64_t i = 0; i < divided_->runs_count; ++i) {
      for (std::uint64_t k = 0; k < runs[i].count; ++k)
        take(runs[i].first + k * runs[i].stride);
    }
  }
  return found;
}

}  // namespace zazen
