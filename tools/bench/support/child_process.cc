#include "tools/bench/support/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace zazen {
namespace {

constexpr auto kPause = std::chrono::milliseconds(2);

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command,
                                         const std::vector<std::string>& environment,
                                         const Streams& streams) {
  std::vector<char*> words = pointers(command), variables = pointers(environment);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) return last_error("fork");
  if (pid > 0) return ChildProcess(pid);

  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  if (streams.input >= 0) dup2(streams.input, STDIN_FILENO);
  if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
  if (streams.errors >= 0) dup2(streams.errors, STDERR_FILENO);
  execve(words[0], words.data(), variables.data());
  _exit(127);
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

int ChildProcess::terminate(int grace_ms) {
  if (pid_ < 0) return 0;
  ::kill(pid_, SIGTERM);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(grace_ms);
  while (std::chrono::steady_clock::now() < deadline) {
    if (std::optional<int> status = ended()) return *status;
    std::this_thread::sleep_for(kPause);
  }
  ::kill(pid_, SIGKILL);
  return wait();
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int ChildProcess::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

std::vector<std::string> plain_environment() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    if (!text.starts_with("ZAZEN_") && !text.starts_with("LD_PRELOAD=")) {
      kept.emplace_back(text);
    }
  }
  return kept;
}

}  // namespace zazen
