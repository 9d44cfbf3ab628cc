// The commands of zazenctl: the options and the exit status of each. main.cc fills the options
// from the command line; each command has a source file of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bodhi/lean/system/base_types.h"
#include "tools/cluster/node_places.h"

namespace zazen {

struct CommonOptions {
  std::optional<std::string> config;  // --config
  bool json = false;
};

struct ClusterOptions : CommonOptions {
  NodesOptions nodes;  // none: this node
};

struct StatusOptions : ClusterOptions {
  bool problems_only = false;
  bool exact_bytes = false;
  bool prometheus = false;
};

struct KindOptions : ClusterOptions {
  bool natives = false;  // neither: both kinds
  bool aliens = false;

  bool wants(FrameKind kind) const {
    if (natives == aliens) return true;
    return natives == (kind == FrameKind::kNative);
  }
};

struct LsOptions : KindOptions {
  std::vector<std::string> paths;
  bool details = false;
};

struct EvictOptions : KindOptions {
  std::vector<std::string> paths;
  std::string frames;  // "A-B"
  bool all = false;
  bool dry_run = false;
};

struct PinOptions : ClusterOptions {
  std::string path;
  std::string range;  // "A-B"; "": all, also frames that come later
};

struct PushOptions : CommonOptions {
  std::vector<std::string> directories;
  std::vector<std::string> peers;  // --to
  bool dry_run = false;
};

struct WarmOptions : ClusterOptions {
  static constexpr std::size_t kMostJobs = 64;
  std::vector<std::string> paths;
  std::string frames;    // "A-B"
  std::size_t jobs = 8;  // frames under way at a time
  bool dry_run = false;
};

struct TopOptions : ClusterOptions {
  TopOptions() { nodes.timeout = "2s"; }  // or one node delays the others' lines
  std::string interval = "1s";
  bool once = false;
};

struct VerifyOptions : ClusterOptions {
  std::vector<std::string> paths;  // none: all
  std::string frames;              // "A-B"
};

struct RunOptions : CommonOptions {
  std::vector<std::string> datasets;
  bool divide = false;
  bool no_divide = false;
  std::string report;
  bool trace = false;
  std::string trace_file;
  std::vector<std::string> command;
  bool verbose = false;
  bool quiet = false;
  bool dry_run = false;
};

struct ReportOptions : CommonOptions {
  std::vector<std::string> jobs;  // beginnings of their numbers, or "last"; none: a list
  std::vector<std::string> from;  // more runtime directories
  std::string html;               // the page's file, "-": standard output; "": no page
};

struct ServeOptions : ClusterOptions {
  ServeOptions() { nodes.timeout = "3s"; }  // or one node delays the others' figures
  unsigned short port = 0;                  // 0: the system chooses
};

struct ExplainOptions : CommonOptions {
  std::vector<std::string> paths;
  std::string view;
};

struct DoctorOptions : CommonOptions {
  std::string program;  // "": checks only the node
};

struct InitOptions : CommonOptions {
  std::string directory;
  std::string frames;                // "": guessed
  std::optional<std::string> cache;  // where a new configuration puts it
  bool dry_run = false;
};

struct DaemonOptions : CommonOptions {};  // of start, stop and reload

struct AddOptions : CommonOptions {
  std::string directory;
  std::string frames;  // "": guessed
  bool removes = false;
};

int status_command(const StatusOptions& options);
int init_command(const InitOptions& options);
int add_command(const AddOptions& options);
int ls_command(const LsOptions& options);
int evict_command(const EvictOptions& options);
int pin_command(const PinOptions& options, bool pin);
int push_command(const PushOptions& options);
int warm_command(const WarmOptions& options);
int top_command(const TopOptions& options);
int verify_command(const VerifyOptions& options);
int report_command(const ReportOptions& options);
int serve_command(const ServeOptions& options);  // ends the program when it was serving
int explain_command(const ExplainOptions& options);
int doctor_command(const DoctorOptions& options);
int start_command(const DaemonOptions& options);
int stop_command(const DaemonOptions& options);
int reload_command(const DaemonOptions& options);
int run_command(const RunOptions& options);  // returns only if it did not start the program

}  // namespace zazen
