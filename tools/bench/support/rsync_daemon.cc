#include "tools/bench/support/rsync_daemon.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/loopback.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

ChildProcess start(const std::string& directory, const std::string& target,
                   std::uint16_t port) {
  const std::string config = directory + "/rsyncd.conf";
  std::ofstream(config) << "use chroot = false\n"
                        << (geteuid() == 0 ? "uid = 0\ngid = 0\n" : "")
                        << "[frames]\nread only = false\npath = " << target << "\n";
  return take(ChildProcess::start({kRsync, "--daemon", "--no-detach", "--address", "127.0.0.1",
                                   "--port", std::to_string(port), "--config", config},
                                  plain_environment(), {}));
}

}  // namespace

RsyncDaemon::RsyncDaemon(const std::string& directory, const std::string& target)
    : port_(free_port()), daemon_(start(directory, target, port_)) {
  auto is_listening = [&]() -> Result<bool> {
    if (daemon_.ended()) return Error{EPROTO, "rsync's daemon did not start", {}};
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect_to_loopback(socket.get(), port_);
  };
  take(wait_until("rsync's daemon", is_listening));
}

double RsyncDaemon::copy(const std::string& from, bool with_fsync) {
  std::vector<std::string> command = {kRsync, "-r", "--whole-file", "--times"};
  if (with_fsync) command.push_back("--fsync");
  command.push_back(from + "/");
  command.push_back(fmt::format("rsync://127.0.0.1:{}/frames/{}", port_, turn_++));
  const Clock::time_point begin = Clock::now();
  ChildProcess rsync = take(ChildProcess::start(command, plain_environment(), {}));
  auto is_done = [&]() -> Result<bool> {
    const std::optional<int> status = rsync.ended();
    if (status.value_or(0) != 0) return Error{EPROTO, "rsync failed", {}};
    return status.has_value();
  };
  take(wait_until("rsync", is_done, std::chrono::milliseconds(1), std::chrono::hours(1)));
  return seconds_since(begin);
}

}  // namespace zazen
