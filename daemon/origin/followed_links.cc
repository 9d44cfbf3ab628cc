#include "daemon/origin/followed_links.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kChildLimit(3);  // the child gives up after a second
constexpr std::chrono::milliseconds kExpandLimit(
    2'000);  // so that the child tells of those that answer
constexpr std::chrono::milliseconds kEndLimit(200);

using Texts = std::vector<std::string>;

// Each text ends with a NUL.
[[noreturn]] void tell(const Texts& texts, int pipe) {
  std::string told;
  for (const std::string& text : texts) told.append(text.c_str(), text.size() + 1);
  for (std::size_t done = 0; done < told.size();) {
    const ssize_t written = ::write(pipe, told.data() + done, told.size() - done);
    if (written < 0 && errno != EINTR) ::_exit(1);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  ::_exit(0);
}

// Reads texts until all are there, or those that come before the deadline. It does not wait for
// the end of the pipe, because a thread of the child that hangs at an origin keeps the pipe
// open.
Texts read_texts(int pipe, const std::function<bool(const Texts& texts)>& are_all) {
  const auto deadline = Clock::now() + kChildLimit;
  Texts texts;
  std::string text;
  char buffer[4096];
  while (!are_all(texts)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    struct pollfd entry = {pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) == 0) break;
    const ssize_t size = ::read(pipe, buffer, sizeof buffer);
    if (size == 0) break;
    for (ssize_t i = 0; i < size; ++i) {
      if (buffer[i] != '\0') {
        text += buffer[i];
      } else {
        texts.push_back(std::exchange(text, {}));
      }
    }
  }
  return texts;
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

// What the child finds; nothing if the system refuses one.
Texts ask_a_child(const std::function<Texts()>& find,
                  const std::function<bool(const Texts& texts)>& are_all) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) {
    ::prctl(PR_SET_NAME, "zazend-links");
    tell(find(), theirs.get());
  }
  theirs.reset();
  Texts texts = read_texts(ours.get(), are_all);
  end(child);
  return texts;
}

}  // namespace

std::vector<std::string> follow_in_a_child(const std::vector<std::string>& paths) {
  const Texts followed =
      ask_a_child([&] { return follow_links(paths); },
                  [&](const Texts& texts) { return texts.size() >= paths.size(); });
  return followed.size() == paths.size() ? followed : paths;
}

// The paths of each pattern, and an empty text after them; before it, "?" if they are unknown.
std::vector<ExpandedPath> expand_in_a_child(const std::vector<std::string>& patterns) {
  std::vector<ExpandedPath> expanded;
  if (patterns.empty()) return expanded;
  const auto find = [&] {
    Texts texts;
    for (const ExpandedPath& each : expand_paths(patterns, kExpandLimit)) {
      texts.insert(texts.end(), each.paths.begin(), each.paths.end());
      if (!each.is_known) texts.push_back("?");
      texts.push_back("");
    }
    return texts;
  };
  const auto are_all = [&](const Texts& texts) {
    return std::ranges::count(texts, "") >= static_cast<std::ptrdiff_t>(patterns.size());
  };
  ExpandedPath next{true, {}};
  for (const std::string& text : ask_a_child(find, are_all)) {
    if (text.empty()) {
      expanded.push_back(std::exchange(next, {true, {}}));
    } else if (text == "?") {
      next.is_known = false;
    } else {
      next.paths.push_back(text);
    }
  }
  expanded.resize(patterns.size());  // those without an answer are unknown
  return expanded;
}

}  // namespace zazen
