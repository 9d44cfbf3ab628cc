// The interface between the shim and an MPI plug-in: one C structure in each direction, one
// version.
//
// The shim does not link libmpi (D12). When its MPI_Init hook sees which MPI the program has,
// it loads libzazen-openmpi.so or libzazen-mpich.so and gets the structure that zazen_plugin()
// returns. It calls the plug-in around the real MPI_Init and MPI_Finalize. While a plug-in
// runs, the shim's own hooks pass everything through on that thread.
#pragma once
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/run/ledger.h"
#include "bodhi/lean/run/run_record.h"
#include "bodhi/lean/system/first_stderr.h"
#include "bodhi/lean/system/launcher.h"

namespace zazen {

inline constexpr std::uint32_t kPluginVersion = 6;

struct PluginHost {  // the shim's functions and data; valid until the process ends
  std::uint32_t version;
  const Table* table;    // null: this rank has no live daemon
  const char* runtime;   // its runtime directory, "" if none is configured
  const Ledger* ledger;  // null unless ZAZEN_REPORT is set
  // Maps and checks the view in this directory without activating it, and returns it. 0 or an
  // errno.
  int (*adopt_view)(const char* directory, const View** view, Tally** tally);
  // Shows the adopted view to this process and to those that it starts.
  void (*activate_view)();
  // Unmaps the adopted view (the ranks did not agree).
  void (*drop_view)();
  // This rank's expectation of the job, by ZAZEN_FILTER and the last table. The datasets for
  // which it holds, as text; "" if they are not known (D24).
  FilterMode expected = FilterMode::kOff;
  const char* expected_paths = nullptr;
  // Whether this rank warns if the program seems to divide its frames a second time. The view
  // and the tally of rank 0; null if they are not known here.
  void (*watch_reading)(bool does, const View* rank_0, const Tally* of_rank_0) = nullptr;
  LauncherPlace place = {};  // from the start: MPI_Init may change the environment
  const FirstStderr* first_stderr = nullptr;  // null: standard error is unchanged
  RunRecord* run = nullptr;  // of this rank's job; null if `zazenctl run` did not start it
  // How long rank 0 waits in MPI_Finalize for the figures of the others after a short job.
  double audit_seconds = 600;
};

struct Plugin {
  std::uint32_t version;
  void (*before_init)(const PluginHost* host);      // proves this rank's presence (D13)
  void (*after_init)(const PluginHost* host);       // agrees on the views
  void (*before_finalize)(const PluginHost* host);  // the audit and the report
  // For a process that ends by _exit with this status: returns its final status (D24).
  int (*status_at_end)(int status) noexcept;
};

inline constexpr char kPluginSymbol[] = "zazen_plugin";
using PluginEntry = const Plugin* (*)();

}  // namespace zazen
