// zazenctl start, stop, reload: the daemon of this node, as a process. A daemon that systemd
// runs is left to systemctl.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/commands/commands.h"
#include "tools/support/daemon_process.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kReloadMs = 60'000;
constexpr std::chrono::milliseconds kStopLimit(30'000);

int failed(const Error& error) {
  print_error(error.context, error.hint);
  return kFailed;
}

// ---- start

// Of the build or the installation that zazenctl belongs to, or else the one in PATH.
std::string find_zazend() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const char* place : {"../daemon/zazend", "../sbin/zazend"}) {
    fs::path program = (self.parent_path() / place).lexically_normal();
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return "zazend";
}

// The exit status of zazend --daemonize, which says by itself what is wrong; -errno if it is
// not there.
int daemonize(const std::string& program, const std::string& config) {
  std::string file = std::filesystem::absolute(config);
  const char* words[] = {program.c_str(), "--config", file.c_str(), "--daemonize", nullptr};
  pid_t child = 0;
  if (const int code = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr,
                                      const_cast<char**>(words), environ);
      code != 0) {
    return -code;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string log_of(const Node& node, const DaemonProcess& daemon) {
  if (const std::string unit = daemon.unit(); !unit.empty()) {
    const bool is_users = daemon.systemctl("status").find("--user") != std::string::npos;
    return fmt::format("journalctl {}-u {}", is_users ? "--user " : "", unit);
  }
  const std::string file = node.runtime + "/log";
  std::error_code error;
  const auto open =
      std::filesystem::read_symlink(fmt::format("/proc/{}/fd/2", daemon.pid()), error);
  return open == file ? file : "its standard error";
}

int say_running(const Node& node, const DaemonProcess& daemon, bool is_new, bool json) {
  const std::string log = log_of(node, daemon);
  if (json) {
    print_json(
        {{"runtime", node.runtime}, {"pid", daemon.pid()}, {"started", is_new}, {"log", log}});
  } else {
    print_line("zazend {} {}: pid {}, log: {}", is_new ? "serves" : "already runs in",
               printable(node.runtime), daemon.pid(), printable(log));
  }
  return kDone;
}

// ---- reload

std::string key_text(const Json& one) {
  const std::string key = one.at("key");
  return one.at("dataset").is_null() ? key : one.at("dataset").get<std::string>() + ": " + key;
}

void print_outcome(const Json& outcome) {
  const std::string file = outcome.at("file");
  std::size_t changes = 0;
  const auto print_list = [&](const char* key, const char* word) {
    for (const Json& one : outcome.at(key)) {
      const std::string text = one.is_string() ? one.get<std::string>() : key_text(one);
      print_line("{:<9} {}", word, printable(text));
      ++changes;
    }
  };
  const std::uint64_t datasets = outcome.at("datasets");
  print_line("reloaded  {}: {}", printable(file), plural(datasets, "dataset"));
  print_list("added", "added");
  print_list("removed", "removed");
  print_list("changed", "changed");
  if (changes == 0 && outcome.at("needs_restart").empty()) print_text("no change");
  print_list("needs_restart", "restart");
  if (!outcome.at("needs_restart").empty()) {
    print_warning("the keys marked restart take effect when zazend starts again",
                  "zazenctl stop && zazenctl start, or: systemctl restart zazend");
  }
}

}  // namespace

int start_command(const DaemonOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  node.runtime = node.config.runtime;  // what zazend takes, whatever ZAZEN_RUNTIME says
  auto running = DaemonProcess::find(node.runtime);
  if (!running) return failed(running.error());
  if (*running) return say_running(node, **running, false, options.json);
  if (const std::string command = enabled_unit_command(node.config.file); !command.empty()) {
    print_error(node.config.file + ": systemd starts zazend with this configuration", command);
    return kFailed;
  }
  const std::string program = find_zazend();
  if (const int status = daemonize(program, node.config.file); status < 0) {
    return failed({-status, program + ": " + std::strerror(-status),
                   "install the package zazend, or put zazend into PATH"});
  } else if (status != 0) {
    return kFailed;
  }
  running = DaemonProcess::find(node.runtime);
  if (!running) return failed(running.error());
  if (*running) return say_running(node, **running, true, options.json);
  return failed({ECHILD, node.runtime + ": zazend served, and has ended already",
                 "its log says why: " + node.runtime + "/log"});
}

int stop_command(const DaemonOptions& options) {
  const Node node = find_node_or_exit(options.config);
  const auto running = DaemonProcess::find(node.runtime);
  if (!running) return failed(running.error());
  const auto say = [&](bool has_run, double seconds, const std::string& text) {
    if (options.json) {
      print_json({{"runtime", node.runtime}, {"stopped", has_run}, {"seconds", seconds}});
    } else {
      print_text(printable(text));
    }
    return kDone;
  };
  if (!*running) return say(false, 0, "no zazend runs in " + node.runtime);
  const DaemonProcess& daemon = **running;
  const std::string subject = fmt::format("{}: zazend (pid {})", node.runtime, daemon.pid());
  if (const std::string unit = daemon.unit(); !unit.empty()) {
    print_error(subject + " is run by systemd as " + unit, daemon.systemctl("stop"));
    return kFailed;
  }
  const Clock::time_point began = Clock::now();
  if (const int code = daemon.terminate(); code == EPERM) {
    print_error(subject + " is another user's", "only root and this user may stop it");
    return kFailed;
  }
  if (!daemon.wait_for_end(kStopLimit)) {
    print_error(
        fmt::format("{} has not ended after {} s", subject, kStopLimit.count() / 1000),
        fmt::format("its log may say why; kill -9 {} ends it; no copy is lost", daemon.pid()));
    return kFailed;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return say(true, seconds, fmt::format("{} ended after {:.2f} s", subject, seconds));
}

int reload_command(const DaemonOptions& options) {
  const Node node = find_node_or_exit(options.config);
  Client client = connect_or_exit(node, kReloadMs);
  const Result<std::string> text = client.reload();
  if (!text && text.error().code == EPERM) {
    print_error(node.runtime + ": this daemon is another user's",
                "only root and this user may have it reload");
    return kFailed;
  }
  if (!text) return request_failed(node, node.runtime, text.error());
  try {
    const Json outcome = Json::parse(*text);
    const Json& error = outcome.at("error");
    if (options.json) {
      print_json(outcome);
    } else if (error.is_null()) {
      print_outcome(outcome);
    } else {
      print_error(error.at("reason"), error.at("hint"));
    }
    return error.is_null() ? kDone : kFailed;
  } catch (const Json::exception& error) {
    print_error(node.runtime + ": the daemon's answer is not understood: " + error.what(),
                "are zazend and zazenctl of the same version?");
    return kFailed;
  }
}

}  // namespace zazen
