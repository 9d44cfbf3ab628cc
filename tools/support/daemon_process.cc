#include "tools/support/daemon_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/requests/wire.h"
#include "tools/support/past_the_shim.h"

namespace zazen {
namespace {

constexpr int kConnectMs = 1'000, kTries = 4;

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// 0: none.
Result<pid_t> pid_of_daemon(const std::string& runtime) {
  const int connected = connect_daemon(runtime.c_str(), kConnectMs);
  const UniqueFd socket(connected);
  if (connected >= 0) {
    ucred listener = {};
    socklen_t size = sizeof listener;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0) {
      return last_error(runtime + ": cannot tell which process serves it");
    }
    if (listener.pid == 0) {
      return Error{ESRCH, runtime + ": its daemon is not among the processes seen from here",
                   "use zazenctl outside of this container"};
    }
    return listener.pid;
  }
  if (connected != -ECONNREFUSED && connected != -ENOENT) {
    return Error{-connected, runtime + ": " + std::strerror(-connected),
                 connected == -EACCES ? "this daemon serves its own user only" : ""};
  }
  bool is_held = false;
  const Table* table = map_table(runtime.c_str(), &is_held);
  const pid_t ending = table != nullptr && is_held ? static_cast<pid_t>(table->pid) : 0;
  unmap_table(table);
  return ending;
}

// Its place in the tree of systemd's units: "/system.slice/zazend.service".
std::string place_among_units(pid_t pid) {
  std::ifstream groups("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(groups, line);) {
    for (const char* hierarchy : {"0::", ":name=systemd:"}) {
      const std::size_t at = line.find(hierarchy);
      if (at == line.npos) continue;
      std::string place = line.substr(at + std::strlen(hierarchy));
      if (place.ends_with(".service")) return place;
    }
  }
  return "";
}

}  // namespace

Result<std::optional<DaemonProcess>> DaemonProcess::find(const std::string& runtime) {
  for (int i = 0; i < kTries; ++i) {
    const Result<pid_t> pid = pid_of_daemon(runtime);
    if (!pid) return pid.error();
    if (*pid == 0) return std::optional<DaemonProcess>();
    UniqueFd descriptor(static_cast<int>(past_the_shim(SYS_pidfd_open, *pid, 0)));
    if (!descriptor.valid() && errno != ESRCH) return last_error(runtime + ": pidfd_open");
    // Another process may have got the number meanwhile.
    const Result<pid_t> again = pid_of_daemon(runtime);
    if (descriptor.valid() && again && *again == *pid) {
      return std::optional(DaemonProcess(*pid, std::move(descriptor)));
    }
  }
  return Error{EAGAIN, runtime + ": its daemon comes and goes", "try again"};
}

// systemd tells the process that it has started by SYSTEMD_EXEC_PID.
std::string DaemonProcess::unit() const {
  const std::string variables = '\0' + whole_file(fmt::format("/proc/{}/environ", pid_));
  const std::string started = fmt::format("{}SYSTEMD_EXEC_PID={}{}", '\0', pid_, '\0');
  if (variables.find(started) == variables.npos) return "";
  const std::string place = place_among_units(pid_);
  return place.empty() ? "zazend.service" : place.substr(place.rfind('/') + 1);
}

std::string DaemonProcess::systemctl(const std::string& verb) const {
  const bool is_users = place_among_units(pid_).find("/user@") != std::string::npos;
  std::string name = unit();
  name.resize(name.rfind('.'));
  return fmt::format("systemctl {}{} {}", is_users ? "--user " : "", verb, name);
}

int DaemonProcess::terminate() const {
  return static_cast<int>(
      -raw_call(SYS_pidfd_send_signal, descriptor_.get(), SIGTERM, nullptr, 0));
}

bool DaemonProcess::wait_for_end(std::chrono::milliseconds limit) const {
  pollfd end = {descriptor_.get(), POLLIN, 0};
  return ::poll(&end, 1, static_cast<int>(limit.count())) == 1;
}

std::string enabled_unit_command(const std::string& config_file) {
  const auto is_there = [](const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
  };
  if (config_file == "/etc/zazen/zazen.toml") {
    const bool is_enabled =
        is_there("/run/systemd/system") &&
        is_there("/etc/systemd/system/multi-user.target.wants/zazend.service");
    return is_enabled ? "systemctl start zazend" : "";
  }
  const char* home = ::getenv("HOME");
  const char* runtime = ::getenv("XDG_RUNTIME_DIR");
  if (home == nullptr || runtime == nullptr) return "";
  const std::string settings = std::string(home) + "/.config/";
  const bool is_enabled =
      config_file == settings + "zazen/zazen.toml" &&
      is_there(std::string(runtime) + "/systemd/private") &&
      is_there(settings + "systemd/user/default.target.wants/zazend.service");
  return is_enabled ? "systemctl --user start zazend" : "";
}

}  // namespace zazen
