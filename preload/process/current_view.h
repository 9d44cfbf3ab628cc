// CurrentView: the frames that this process sees in listings, as the ranks have agreed (D13).
//
// A view is adopted (mapped and checked) before the ranks agree, and used only afterwards. Then
// it holds until the process ends, independently of the daemon. Fork inherits the mapping;
// ZAZEN_VIEW passes the directory's name to programs after exec.
#pragma once
#include "bodhi/lean/frames/view.h"
#include "preload/process/dataset_matcher.h"

namespace zazen {

struct CurrentView {
  const View* view;
  Tally* tally;
  char directory[kMaxPath];
  char variable[kMaxPath + sizeof kViewVariable];  // "ZAZEN_VIEW=<directory>"
  DatasetMatcher matchers[];  // as many, and in the order, of view->datasets
};

extern std::atomic<CurrentView*> active_view;

// Null if this process sees everything.
inline const CurrentView* current_view() {
  return active_view.load(std::memory_order_acquire);
}

// The three functions of PluginHost; see coord/plugin.h.
int adopt_view(const char* directory, const View** view, Tally** tally);
void activate_view();
void drop_view();

// To be called at start, with ZAZEN_VIEW from the environment.
void inherit_view(const char* directory);
// To be called in MPI_Finalize and at exit: records how the rank ended, for `zazenctl report`.
void note_ending(Ending ending);
// At exit the rank itself moves the directory of its view to the reports of the node, or
// removes it if there are none.
void archive_own_view();

// Turns <runtime>/jobs/X into <runtime>/reports/X; false if the path is elsewhere or does not
// fit.
bool path_in_reports(const char* directory, char* out, std::size_t capacity);
bool move_to_reports(const char* directory);

// The view's dataset with this path, or -1.
int view_dataset(const CurrentView& view, const char* path);

}  // namespace zazen
