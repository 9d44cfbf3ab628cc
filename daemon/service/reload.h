// Reload: reads the configuration file again (SIGHUP) and applies the changes, while the
// programs of the node go on.
//
// Datasets come and go, limits and the keys of a dataset change, a key file is read again. A
// dataset keeps its position for the life of the daemon, because fills under way, counters and
// programs know it by that. A removed dataset is not served. Its copies stay, count, may be
// evicted, and are served again when the dataset is added again. A file with an error changes
// nothing. The log names the changes that need a restart.
//
// Not thread safe; one thread runs it, and is the only one that changes the configuration.
#pragma once
#include "bodhi/config/config.h"
#include "daemon/service/publisher.h"
#include "daemon/service/service.h"
#include "daemon/store/store.h"

namespace zazen {

class Reload {
 public:
  Reload(Config& config, Store& store, Publisher& publisher, Service& service)
      : config_(config), store_(store), publisher_(publisher), service_(service) {}

  // Writes the outcome to the log and to the service manager.
  void run();

 private:
  Status apply(const Config& next);
  void renew_key(const Config& next);
  Status update(const DatasetConfig& next);
  Status add(const DatasetConfig& next);

  Config& config_;
  Store& store_;
  Publisher& publisher_;
  Service& service_;
};

}  // namespace zazen
