// `zazen-bench first-miss`: how long a user's first miss takes, for which a worker is started,
// and the next one. Each user comes once, asks for two frames, and waits for each copy.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "bodhi/node/client.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

struct FirstMissOptions {
  int users = 40;
};

constexpr uid_t kFirstUser = 65'540;
constexpr FrameSeq kFirstFrame = 1'000'000;
constexpr std::size_t kFrameBytes = 4096;
// A frame whose time may still be the clock's is waited for (daemon/process/clock_tick.h).
constexpr auto kAge = std::chrono::milliseconds(100);

struct Misses {  // of one user, in milliseconds
  double first = 0, next = 0;
};

// From the connection until the copy is there; as programs do, with one for each miss.
bool miss(const BenchLayout& layout, FrameSeq seq, double* milliseconds) {
  UniqueFd origin(::open(layout.origin(seq).c_str(), O_RDONLY | O_CLOEXEC));
  const Clock::time_point begin = Clock::now();
  Result<Client> client = Client::connect(layout.runtime());
  if (!origin.valid() || !client ||
      !client->start_fill(layout.dataset(), layout.frame_name(seq), origin.get())) {
    return false;
  }
  const Result<Client::PushAnswer> answer = client->next_push_answer();
  *milliseconds = seconds_since(begin) * 1000;
  return answer && answer->status == 0;
}

// In a process of the user's own.
Misses misses_of(const BenchLayout& layout, uid_t user, FrameSeq seq) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw last_error("pipe");
  const UniqueFd out(ends[0]);
  UniqueFd into(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) throw last_error("fork");
  Misses misses;
  if (pid == 0) {
    const bool is_done = ::setgroups(0, nullptr) == 0 && ::setgid(user) == 0 &&
                         ::setuid(user) == 0 && miss(layout, seq, &misses.first) &&
                         miss(layout, seq + 1, &misses.next) &&
                         ::write(into.get(), &misses, sizeof misses) == sizeof misses;
    ::_exit(is_done ? 0 : 1);
  }
  into.reset();
  const bool is_done = ::read(out.get(), &misses, sizeof misses) == sizeof misses;
  ::waitpid(pid, nullptr, 0);
  if (!is_done) throw Error{EPROTO, fmt::format("the misses of user {}", user), {}};
  return misses;
}

// For root only: others cannot become users.
Figures measure(const BenchPlace& place, const FirstMissOptions& options) {
  if (::geteuid() != 0) throw Error{EPERM, "other users", "root can become them"};
  BenchNode node = BenchNode::start(place, true);
  for (int i = 0; i < 2 * options.users; ++i) {
    std::ofstream(node.layout().origin(kFirstFrame + static_cast<FrameSeq>(i)))
        << std::string(kFrameBytes, 'f');
  }
  std::this_thread::sleep_for(kAge);
  std::vector<double> first, next;  // milliseconds, one for each user
  for (int i = 0; i < options.users && interruption() == 0; ++i) {
    const FrameSeq seq = kFirstFrame + 2 * static_cast<FrameSeq>(i);
    Misses misses = misses_of(node.layout(), kFirstUser + static_cast<uid_t>(i), seq);
    first.push_back(misses.first);
    next.push_back(misses.next);
  }
  node.stop();
  return Figures{{"users", first.size()},
                 {"first_p50_ms", median(first)},
                 {"first_p99_ms", percentile(first, 0.99)},
                 {"next_p50_ms", median(next)},
                 {"next_p99_ms", percentile(next, 0.99)},
                 {"worker_start_ms", median(first) - median(next)}};
}

}  // namespace

void add_first_miss_bench(CommandLine& line) {
  static FirstMissOptions options;
  line.benchmark("first-miss",
                 "Compare a user's first miss, which starts a worker, with the next one.",
                 "\nIt needs root.\n\nExample:\n  zazen-bench first-miss --users 100\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .number("--users", &options.users, 1, 200, "How many (default: 40)");
}

}  // namespace zazen
