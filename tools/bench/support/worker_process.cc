#include "tools/bench/support/worker_process.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

constexpr auto kTurnLimit = std::chrono::seconds(60);

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& command,
                                           const std::vector<std::string>& environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return last_error("socketpair");
  }
  UniqueFd mine(ends[0]), its(ends[1]);
  Result<ChildProcess> process =
      ChildProcess::start(command, environment, {its.get(), its.get(), -1});
  if (!process) return process.error();
  return WorkerProcess(std::move(*process), std::move(mine));
}

Result<std::vector<double>> WorkerProcess::take_turn(const std::string& what) {
  std::string request = what + "\n";
  send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL);
  Result<std::string> line = read_line();
  if (!line) return line.error();
  return nlohmann::json::parse(*line).get<std::vector<double>>();
}

Result<std::uint64_t> WorkerProcess::finish() {
  shutdown(socket_.get(), SHUT_WR);
  Result<std::string> line = read_line();
  if (!line) return line.error();
  return nlohmann::json::parse(*line).get<std::uint64_t>();
}

Result<std::string> WorkerProcess::read_line() {
  auto deadline = std::chrono::steady_clock::now() + kTurnLimit;
  for (;;) {
    if (std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline -
                                                             std::chrono::steady_clock::now());
    if (interruption() != 0) return Error{EINTR, "a worker", {}};
    if (left.count() <= 0) return Error{ETIMEDOUT, "a worker", {}};
    struct pollfd ready = {socket_.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[16384];
    ssize_t got = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got == 0) return Error{EPROTO, "a worker ended too early", {}};
    if (got > 0) received_.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return last_error("a worker");
  }
}

}  // namespace zazen
