// Forker: the small process that starts workers and kills them (D23). zazend forks it while it
// has a single thread and has read nothing but its configuration. The forker has a single
// thread itself, so each worker begins in a known state, as in sshd.
//
// A worker takes on the credentials of its user. A worker of another user than root keeps one
// capability, CAP_LEASE, by which it sees whether a frame has a writer. Only root can trace a
// worker or read its memory. The forker ends when zazend ends, and the kernel then kills the
// workers.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

struct WorkerCredentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary
  // True: neither group nor groups are known, and the worker looks them up. `gid` is for a user
  // who has no account.
  bool looks_up_groups = false;
  // It takes pushes over the network, or requests for metrics, and no client's connections.
  bool is_listener = false;
  bool serves_metrics = false;  // then it is a listener
  auto operator<=>(const WorkerCredentials&) const = default;
};

class Forker {
 public:
  // The main function of a worker, which gets the worker's ends of the link.
  using Run = std::function<void(UniqueFd receive, UniqueFd send)>;
  // With `log_file` the forker and the workers write there instead of to our standard error.
  // Throws std::system_error if the system refuses a process.
  static Result<Forker> start(const Run& run, const std::string& log_file);

  Forker(Forker&& other) noexcept = default;
  ~Forker();  // ends it, and with it all workers

  // 0 or an errno. A worker that cannot be started closes its ends. `id` is for kill_worker().
  int start_worker(std::uint64_t id, const WorkerCredentials& credentials,
                   const UniqueFd& receive, const UniqueFd& send) const;
  // Also kills a worker that is stopped. It is no error if the worker has ended.
  void kill_worker(std::uint64_t id) const;
  // It and the workers that it starts from now on write their log there.
  void write_log_to(const UniqueFd& log) const;
  // Readable when the forker has ended; it never ends by itself.
  int end_fd() const { return socket_.get(); }

 private:
  Forker(UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
  UniqueFd socket_;
  pid_t pid_;
};

}  // namespace zazen
