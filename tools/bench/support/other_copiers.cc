#include "tools/bench/support/other_copiers.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/interruption.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(10);
constexpr int kTries = 500;

// sshd is not in everybody's PATH.
Result<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::stringstream places(std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/bin");
  for (std::string place; std::getline(places, place, ':');) {
    std::string program = place + "/" + name;
    if (!place.empty() && access(program.c_str(), X_OK) == 0) return program;
  }
  return Error{ENOENT, name + " is not installed", {}};
}

Result<sockaddr_in> bound_to_free_port(int socket) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket, generic, size) != 0 || getsockname(socket, generic, &size) != 0) {
    return last_error("a free port");
  }
  return address;
}

Status wait_until_listening(ChildProcess& daemon, std::uint16_t port, const std::string& what) {
  for (int i = 0; i < kTries && interruption() == 0; ++i) {
    if (daemon.ended()) return Error{EPROTO, what + " did not start", {}};
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      return Done{};
    }
    std::this_thread::sleep_for(kPause);
  }
  return Error{ETIMEDOUT, what, {}};
}

Status run(const std::vector<std::string>& command) {
  Result<ChildProcess> process = ChildProcess::start(command, plain_environment(), {});
  if (!process) return process.error();
  for (;;) {
    if (std::optional<int> status = process->ended()) {
      if (*status == 0) return Done{};
      return Error{EPROTO, fmt::format("{} failed", command[0]), {}};
    }
    if (interruption() != 0) return Error{EINTR, command[0], {}};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<std::uint16_t> free_port() {
  UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Result<sockaddr_in> address = bound_to_free_port(probe.get());
  if (!address) return address.error();
  return ntohs(address->sin_port);
}

Result<OtherCopier> OtherCopier::rsync(const std::string& directory,
                                       const std::string& target) {
  Result<std::string> program = find_program("rsync");
  if (!program) return program.error();
  Result<std::uint16_t> port = free_port();
  if (!port) return port.error();
  std::string config = directory + "/rsyncd.conf";
  std::ofstream(config) << "use chroot = false\n"
                        << (geteuid() == 0 ? "uid = 0\ngid = 0\n" : "")
                        << "[frames]\nread only = false\npath = " << target << "\n";
  Result<ChildProcess> daemon =
      ChildProcess::start({*program, "--daemon", "--no-detach", "--address", "127.0.0.1",
                           "--port", std::to_string(*port), "--config", config},
                          plain_environment(), {});
  if (!daemon) return daemon.error();
  if (Status up = wait_until_listening(*daemon, *port, "rsync's daemon"); !up) {
    return up.error();
  }
  return OtherCopier(std::move(*daemon), {*program, "-r", "--whole-file", "--times"},
                     fmt::format("rsync://127.0.0.1:{}/frames", *port));
}

Result<OtherCopier> OtherCopier::scp(const std::string& directory, const std::string& target) {
  Result<std::string> server = find_program("sshd"), client = find_program("scp"),
                      keygen = find_program("ssh-keygen");
  for (const Result<std::string>* program : {&server, &client, &keygen}) {
    if (!*program) return program->error();
  }
  Result<std::uint16_t> port = free_port();
  if (!port) return port.error();
  const std::string host_key = directory + "/host_key", user_key = directory + "/user_key";
  for (const std::string& key : {host_key, user_key}) {
    Status made = run({*keygen, "-q", "-t", "ed25519", "-N", "", "-f", key});
    if (!made) return made.error();
  }
  std::string config = directory + "/sshd_config";
  std::ofstream(config) << "ListenAddress 127.0.0.1\nPort " << *port << "\nHostKey " << host_key
                        << "\nAuthorizedKeysFile " << user_key
                        << ".pub\nStrictModes no\nUsePAM no\nPidFile none\n"
                           "PermitRootLogin prohibit-password\n"
                           "Subsystem sftp internal-sftp\n";
  if (geteuid() == 0) std::filesystem::create_directories("/run/sshd");
  Result<ChildProcess> daemon =
      ChildProcess::start({*server, "-D", "-e", "-q", "-f", config}, plain_environment(), {});
  if (!daemon) return daemon.error();
  if (Status up = wait_until_listening(*daemon, *port, "sshd"); !up) return up.error();
  const struct passwd* user = getpwuid(geteuid());
  return OtherCopier(
      std::move(*daemon),
      {*client, "-q", "-r", "-B", "-P", std::to_string(*port), "-i", user_key, "-o",
       "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
       "-F", "none"},
      fmt::format("{}@127.0.0.1:{}", user != nullptr ? user->pw_name : "root", target));
}

Result<double> OtherCopier::copy(const std::string& from, bool with_fsync) {
  std::vector<std::string> command = command_;
  if (with_fsync) command.push_back("--fsync");
  command.insert(command.end(), {from + "/", fmt::format("{}/{}", to_, turn_++)});
  Clock::time_point begin = Clock::now();
  if (Status done = run(command); !done) return done.error();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace zazen
