// Publisher: the table and the counters in the runtime directory (D3), the lock on the table
// that says "this daemon lives", and the heartbeat.
//
// The table is complete before it gets its name; afterwards only its atomics change. The
// lock is an OFD lock: it goes with the process, however that ends.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bodhi/config.h"
#include "bodhi/result.h"
#include "bodhi/table.h"
#include "bodhi/unique_fd.h"
#include "daemon/user_counters.h"

namespace zazen {

class Publisher {
 public:
  // The state is kStarting until serve(). The errors are whole sentences.
  static Result<std::unique_ptr<Publisher>> publish(const Config& config, const NodeId& node,
                                                    dev_t cache_dev, std::uint64_t instance);
  ~Publisher();

  void serve();
  // Says that the daemon has stopped. The table stays: who changes a frame meanwhile learns
  // from it where the copy is that has to go.
  void withdraw();

  // Hits and misses of a dataset since the start.
  struct Uses {
    std::uint64_t hits;
    std::uint64_t misses;
  };
  Uses uses(std::uint32_t dataset) const;
  // A client of this user came: his programs have something to count in from now on.
  void note_user(uid_t uid);

  void note_sample(std::uint32_t dataset, bool found_stale);
  void note_young(std::uint32_t dataset, std::uint32_t copies);

 private:
  Publisher() = default;
  void beat();

  std::string runtime_;
  UniqueFd file_;  // holds the lock
  Table* table_ = nullptr;
  Counters* counters_ = nullptr;
  std::unique_ptr<UserCounters> user_counters_;  // null: only the own user is served
  bool withdrawn_ = false;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread heart_;
};

}  // namespace zazen
