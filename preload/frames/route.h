// Route: the frame that a path names, if it names one.
//
// The datasets are those of the daemon's table and those of the view, since a view outlives the
// daemon. For an unrelated path this costs a few comparisons and no system call (D21).
#pragma once
#include "preload/process/current_view.h"
#include "preload/process/node.h"

namespace zazen {

struct Route {
  const DatasetMatcher* matcher = nullptr;  // null: not a frame
  FrameSeq seq = 0;
  const Node* node = nullptr;         // null: only the view has the dataset
  std::uint32_t dataset = 0;          // in the node's table
  bool alive = false;                 // the node's daemon serves
  std::int64_t now_ms = 0;            // the time of the look-up
  const CurrentView* view = nullptr;  // null: the view does not cover the dataset
  std::uint32_t view_dataset = 0;

  explicit operator bool() const { return matcher != nullptr; }
  bool is_companion() const { return matcher->name.is_companion(seq); }
  const TableDataset& published() const { return node->table->datasets[dataset]; }
  bool is_served() const { return node != nullptr && alive && published().removed == 0; }
};

inline bool may_be_frame(const char* path) {
  return path_prefilter.may_be_frame(path);
}

// The slow part of route_for, for a path that may be a frame.
Route find_route(int dirfd, const char* path);

// The frame whose directory this is, if the number is a directory's name ("7" of
// "{seq}/traj.dcd"). A change of that name changes the frame. errno is kept.
Route route_of_entry(int dirfd, const char* path);

// errno is kept.
inline Route route_for(int dirfd, const char* path) {
  if (!may_be_frame(path)) [[likely]]
    return {};
  return find_route(dirfd, path);
}

}  // namespace zazen
