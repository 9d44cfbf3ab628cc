#include "tools/bench/benchmarks/first_miss_bench.h"

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
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

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
Result<Misses> misses_of(const BenchLayout& layout, uid_t user, FrameSeq seq) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return last_error("pipe");
  const UniqueFd out(ends[0]);
  UniqueFd into(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return last_error("fork");
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
  if (!is_done) return Error{EPROTO, fmt::format("the misses of user {}", user), {}};
  return misses;
}

}  // namespace

Result<FirstMissFigures> measure_first_miss(const FirstMissOptions& options) {
  if (::geteuid() != 0) return Error{EPERM, "other users", "root can become them"};
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<BenchNode> node = BenchNode::start(programs->zazend, options.directory, true);
  if (!node) return node.error();
  for (int i = 0; i < 2 * options.users; ++i) {
    std::ofstream(node->layout().origin(kFirstFrame + static_cast<FrameSeq>(i)))
        << std::string(kFrameBytes, 'f');
  }
  std::this_thread::sleep_for(kAge);
  FirstMissFigures figures;
  for (int i = 0; i < options.users && interruption() == 0; ++i) {
    const FrameSeq seq = kFirstFrame + 2 * static_cast<FrameSeq>(i);
    Result<Misses> misses = misses_of(node->layout(), kFirstUser + static_cast<uid_t>(i), seq);
    if (!misses) return misses.error();
    figures.first.push_back(misses->first);
    figures.next.push_back(misses->next);
  }
  if (Status stopped = node->stop(); !stopped) return stopped.error();
  return figures;
}

void print_first_miss_figures(const FirstMissFigures& figures, bool as_json) {
  const double first = median(figures.first), next = median(figures.next);
  if (as_json) {
    return print_figures_json({{"users", figures.first.size()},
                               {"first_p50_ms", first},
                               {"first_p99_ms", percentile(figures.first, 0.99)},
                               {"next_p50_ms", next},
                               {"next_p99_ms", percentile(figures.next, 0.99)},
                               {"worker_start_ms", first - next}});
  }
  fmt::print(
      "{} users: the first miss {:.2f} ms (p99 {:.2f}), the next one {:.2f} ms (p99 "
      "{:.2f}); the start of a worker {:.2f} ms\n",
      figures.first.size(), first, percentile(figures.first, 0.99), next,
      percentile(figures.next, 0.99), first - next);
}

}  // namespace zazen
