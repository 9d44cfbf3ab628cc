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
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/service/publisher.h"
#include "daemon/service/service.h"
#include "daemon/service/user_datasets.h"
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
         UserDatasets& user_datasets, std::string log_file);

  // Reloads on a thread of its own, one after the other. The outcome also goes to the log and
  // to the service manager. After stop() nothing is done any more.
  void post(Answer answer = {});
  void stop();
  // Looks at the file.
  ConfigurationState state() const;

  // `zazenctl add` by a user whose worker says that the directory is the user's. 0, or:
  // EPERM the configuration does not allow it, EACCES the user has not added it, ENOENT nobody
  // has (takes_away), EINVAL path or template, EEXIST it overlaps a dataset or a directory of
  // zazend, EBUSY copies with another template are there, EDQUOT or E2BIG too many of the user
  // or of all, EAGAIN too many changes by this user in a minute: each one is a new table for
  // all programs.
  void post(const AddDataset& wanted, uid_t uid, std::function<void(int)> answer);
  // Directories that have come since, by the paths with '*'.
  void post_look_for_directories();

 private:
  void run();
  void reopen_log();
  void apply(const Config& next);
  void fail(const Error& error);  // more than one thing may
  void note_changes(const Config& next);
  int change_user_dataset(const AddDataset& wanted, uid_t uid);
  int add_user_dataset(const AddDataset& wanted, uid_t uid);
  int take_user_dataset_away(const std::string& path, uid_t uid);
  void look_for_directories();
  std::vector<ExpandedPath> expand(const std::vector<DatasetConfig>& patterns);
  bool may_wait(uid_t uid);
  // Of the file, of users, and by the paths with '*'.
  Result<Config> load();
  void publish();
  void renew_key(const Config& next);
  Status update(const DatasetConfig& next);
  Status add(const DatasetConfig& next);

  Config& config_;
  Store& store_;
  Publisher& publisher_;
  Service& service_;
  UserDatasets& user_datasets_;
  std::map<uid_t, std::size_t> changes_;  // by users in this minute
  std::int64_t minute_ = 0;
  const std::string log_file_;
  Config loaded_;          // as the file was when it was read last, without an error
  ReloadOutcome outcome_;  // of the reload under way
  std::atomic<bool> stopping_ = false, has_look_ = false;
  mutable std::mutex mutex_;
  std::map<uid_t, std::size_t> waiting_;       // changes by users
  ConfigurationState state_;                   // without what the look at the file adds
  std::vector<FileVersion> in_force_, tried_;  // the files when they were loaded, and last read
  std::string include_;                        // the pattern for them
  WorkQueue queue_{1};
};

}  // namespace zazen
