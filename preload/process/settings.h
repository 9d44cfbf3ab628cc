// Settings: the environment variables of the shim, read once, in the constructor.
#pragma once
#include "bodhi/lean/run/filter_wish.h"
#include "bodhi/lean/run/ledger.h"
#include "bodhi/lean/run/run_record.h"
#include "bodhi/lean/system/base_types.h"
#include "bodhi/lean/system/first_stderr.h"
#include "bodhi/lean/system/launcher.h"

namespace zazen {

enum class LogLevel { kOff, kWarn, kInfo, kDebug };

struct Settings {
  bool active = false;      // false: every hook forwards and does nothing else
  bool configured = false;  // ZAZEN_RUNTIME or ZAZEN_CONFIG is set, valid or not
  LogLevel log_level = LogLevel::kOff;
  int pid = 0;                         // the process that read them, if it may report
  Ledger* ledger = nullptr;            // the ledger of the report; null unless one is wanted
  char runtime[kMaxPath] = {};         // "" if there is none
  char log_file[kMaxPath] = {};        // "": standard error
  char report[kMaxPath] = {};          // "": none wanted
  char inherited_view[kMaxPath] = {};  // the directory in ZAZEN_VIEW, "" if there is none
  char division[kMaxPath] = {};        // ZAZEN_DIVISION, see filter_wish.h
  char datasets[4 * kMaxPath] = {};    // ZAZEN_DATASETS; names that do not fit are left out
  FilterWish filter = FilterWish::kAuto;
  LauncherPlace place;
  FirstStderr first_stderr;  // known if there is a ZAZEN_ variable
  RunPlace run;              // ZAZEN_JOB
};
extern Settings settings;

// With AT_SECURE or ZAZEN_DISABLE nothing is read and `active` stays false. One process of the
// job reports an invalid value on standard error. The value is emptied in the environment, so
// that programs that this one starts do not report it again.
void read_settings(const char* const* environment);

}  // namespace zazen
