// Reload: reads the configuration file again and applies the changes, while the programs of the
// node go on. SIGHUP and a message of a client (kReload) ask for it; the message is answered
// with the outcome.
//
// Datasets come and go, limits and the keys of a dataset change, a key file is read again. A
// dataset keeps its position for the life of the daemon, because fills under way, counters and
// programs know it by that. A removed dataset is not served. Its copies stay, count, may be
// evicted, and are served again when the dataset is added again. A file with an error changes
// nothing. Log and outcome name the changes that need a restart.
//
// post() and state() are thread safe. One thread reloads, and is the only one that changes the
// configuration.
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/service/publisher.h"
#include "daemon/service/service.h"
#include "daemon/store/store.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

struct ReloadOutcome {
  struct Key {
    std::string dataset;  // its path; "": a key of the node
    std::string key;
  };
  std::string file;
  std::optional<Error> error;  // the context is a whole sentence
  std::vector<std::string> added, removed;
  std::vector<Key> changed, needs_restart;
  std::size_t datasets = 0;   // that are served
  std::int64_t ended_at = 0;  // seconds since 1970

  std::string json() const;
};

// The configuration in force, against the file.
struct ConfigurationState {
  std::int64_t loaded_at = 0;           // seconds since 1970
  std::int64_t changed_at = 0;          // after it was last read; 0: it was not changed
  std::optional<ReloadOutcome> failed;  // the last reload, if it has failed
  std::vector<std::string> problems;    // the same for people
};

class Reload {
 public:
  using Answer = std::function<void(const ReloadOutcome& outcome)>;

  // Each reload also opens `log_file` again, if the daemon writes its log there: "" if not.
  Reload(Config& config, Store& store, Publisher& publisher, Service& service,
         std::string log_file);

  // Reloads on a thread of its own, one after the other. The outcome also goes to the log and
  // to the service manager. After stop() nothing is done any more.
  void post(Answer answer = {});
  void stop() { queue_.stop(); }
  // Looks at the file.
  ConfigurationState state() const;

 private:
  void run();
  void reopen_log();
  void apply(const Config& next);
  void fail(const Error& error);  // more than one thing may
  void note_changes(const Config& next);
  void renew_key(const Config& next);
  Status update(const DatasetConfig& next);
  Status add(const DatasetConfig& next);

  Config& config_;
  Store& store_;
  Publisher& publisher_;
  Service& service_;
  const std::string log_file_;
  Config loaded_;          // as the file was when it was read last, without an error
  ReloadOutcome outcome_;  // of the reload under way
  mutable std::mutex mutex_;
  ConfigurationState state_;                   // without what the look at the file adds
  std::vector<FileVersion> in_force_, tried_;  // the files when they were loaded, and last read
  std::string include_;                        // the pattern for them
  WorkQueue queue_{1};
};

}  // namespace zazen
