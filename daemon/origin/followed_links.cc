#include "daemon/origin/followed_links.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kChildLimit(3);  // the child gives up after a second
constexpr std::chrono::milliseconds kEndLimit(200);

// Each path ends with a NUL.
[[noreturn]] void follow_and_tell(const std::vector<std::string>& paths, int pipe) {
  ::prctl(PR_SET_NAME, "zazend-links");
  std::string told;
  for (const std::string& path : follow_links(paths))
    told.append(path.c_str(), path.size() + 1);
  for (std::size_t done = 0; done < told.size();) {
    const ssize_t written = ::write(pipe, told.data() + done, told.size() - done);
    if (written < 0 && errno != EINTR) ::_exit(1);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  ::_exit(0);
}

// Reads `count` paths, or those that come before the deadline. It does not wait for the end of
// the pipe, because a thread of the child that hangs at an origin keeps the pipe open.
std::vector<std::string> read_paths(int pipe, std::size_t count) {
  const auto deadline = Clock::now() + kChildLimit;
  std::vector<std::string> paths;
  std::string path;
  char buffer[4096];
  while (paths.size() < count) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    struct pollfd entry = {pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) == 0) break;
    const ssize_t size = ::read(pipe, buffer, sizeof buffer);
    if (size == 0) break;
    for (ssize_t i = 0; i < size; ++i) {
      if (buffer[i] != '\0') {
        path += buffer[i];
      } else {
        paths.push_back(std::exchange(path, {}));
      }
    }
  }
  return paths;
}

// Kills the child and reaps it if it ends soon. A child that hangs ends later, without this
// process.
void end(pid_t child) {
  ::kill(child, SIGKILL);
  const auto deadline = Clock::now() + kEndLimit;
  while (::waitpid(child, nullptr, WNOHANG) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::vector<std::string> follow_in_a_child(const std::vector<std::string>& paths) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return paths;
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return paths;
  if (child == 0) follow_and_tell(paths, theirs.get());
  theirs.reset();
  const std::vector<std::string> followed = read_paths(ours.get(), paths.size());
  end(child);
  return followed.size() == paths.size() ? followed : paths;
}

}  // namespace zazen
