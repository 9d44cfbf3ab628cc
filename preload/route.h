// Route: which frame a path means, if it means one.
//
// The datasets are those of the daemon's table and, since a view outlives the daemon, those
// of the view. Costs a few comparisons for an unrelated path, no system call (D21).
#pragma once
#include <cstring>

#include "preload/current_view.h"
#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/node.h"
#include "preload/settings.h"

namespace zazen {

struct Route {
  const Place* place = nullptr;  // null: not a frame
  FrameSeq seq = 0;
  const Node* node = nullptr;         // null: only the view knows the dataset
  std::uint32_t dataset = 0;          // in the node's table
  bool alive = false;                 // the node's daemon serves
  const CurrentView* view = nullptr;  // null: the view does not cover the dataset
  std::uint32_t view_dataset = 0;

  explicit operator bool() const { return place != nullptr; }
  const TableDataset& published() const { return node->table->datasets[dataset]; }
};

// The slow part of route_for, which is the one to call.
Route find_route(int dirfd, const char* path, std::size_t length);

inline bool may_name_frame(const char* path, std::size_t length) {
  if (length == 0) return false;
  char last = path[length - 1];
  const CurrentView* view = current_view();
  if (view != nullptr && view->ends.contains(last)) return true;
  // Without a serving daemon it may be time to look for one.
  const Node* node = serving_node();
  return node == nullptr || node->ends.contains(last);
}

// errno is kept. A null or empty path is no frame.
inline Route route_for(int dirfd, const char* path) {
  if (!settings.active || guard_is_raised() || !may_be_string(path)) return {};
  std::size_t length = std::strlen(path);
  if (!may_name_frame(path, length)) [[likely]]
    return {};
  return find_route(dirfd, path, length);
}

}  // namespace zazen
