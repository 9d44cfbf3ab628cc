// Publisher: the table and the counters in the runtime directory (D3), a lock, and a heartbeat.
// The lock on the table means "this daemon lives", and the heartbeat "this daemon serves".
//
// The table is complete before it gets its name; afterwards only its atomics change. The lock
// is an OFD lock, which ends with the process in every case.
//
// A reload publishes a new table and then marks the old one superseded. The old ones stay
// mapped, locked and marked with doubts, because a program may just have decided by one. Each
// is a few kilobytes.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "bodhi/lean/frames/table.h"
#include "daemon/disk/pending_copies.h"
#include "daemon/service/user_counters.h"

namespace zazen {

class Publisher {
 public:
  // The state is kStarting until serve(). The errors are whole sentences.
  static Result<std::unique_ptr<Publisher>> publish(const Config& config, const NodeId& node,
                                                    dev_t cache_dev, std::uint64_t instance);
  ~Publisher();

  // Called before serve(): the table shows these numbers. They must outlive the publisher.
  void show(PendingCopies& pending);
  void serve();
  // Called by the serving thread: programs that see no beats read the origin. A gap between two
  // beats may be so long that programs gave up sending messages: the daemon was stopped, that
  // thread was blocked, or the machine was asleep. Then `on_gap` is called first.
  void beat(const std::function<void()>& on_gap);
  // Publishes the table of a changed configuration, in which each dataset keeps its position. A
  // program that sees the old table superseded finds the new one serving.
  Status republish(const Config& config);
  // Says whether programs take turns at the cache's disk (D17).
  void order_reads(bool ordered);
  // False: the daemon lives, but programs must read the origin.
  void set_usable(bool usable);
  // Says that the daemon has stopped. The table stays: a program that changes a frame meanwhile
  // learns from it which copy to remove.
  void withdraw();

  // Hits and misses of a dataset since the start.
  struct Uses {
    std::uint64_t hits;
    std::uint64_t misses;
  };
  Uses uses(std::uint32_t dataset) const;
  // The counts of programs since the last call. One thread calls this.
  CountedSince count();
  // A client of this user has connected: the user's programs get a file for their counters.
  void note_user(uid_t uid, std::size_t most_users = UserCounters::kMostUsers);
  // A worker of this user has ended: nobody reads the news of the user's programs
  // (program_news.h) until another one says that it does.
  void note_unread(uid_t uid);

  void note_sample(std::uint32_t dataset);
  // The dataset's word in the table (trust.h).
  void note_doubts(std::uint32_t dataset, std::uint32_t doubts);

 private:
  struct Published {
    UniqueFd file;  // holds the lock
    Table* table = nullptr;
  };

  Publisher() = default;
  Status make_table(const Config& config, const NodeId& node, dev_t cache_dev,
                    std::uint64_t instance, Published* out) const;
  DaemonState state() const;  // these two: mutex_ is held
  void show_state();
  void unmap(const Published& published) const;

  std::string runtime_;
  Counters* counters_ = nullptr;
  CounterValues seen_ = {};                      // of counters_, in the last count()
  std::unique_ptr<UserCounters> user_counters_;  // null: only the own user is served

  mutable std::mutex mutex_;
  PendingCopies* pending_ = nullptr;
  Published current_;
  std::vector<Published> superseded_;
  std::array<std::uint32_t, kMaxDatasets> doubts_ = {};
  bool stopping_ = false;
  bool serving_ = false;
  bool usable_ = true;
  bool orders_reads_ = false;
  std::int64_t last_beat_ms_ = 0;  // of the serving thread
};

}  // namespace zazen
