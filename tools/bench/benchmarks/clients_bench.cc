// `zazen-bench clients`: what a hostile client costs the others. A well-behaved client makes
// its requests in three ways, by turns: alone, beside processes that only spin, and beside as
// many that attack. The spinning ones are the control: they show the cost of any work on this
// machine. In the first half all processes are equal. In the second half client and daemon need
// not wait for a CPU. A ratio is that of two turns of one round. Where root runs it, the
// attackers are another user's; otherwise all are one user's.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct ClientsOptions {
  int rounds = 5;
  int requests = 500;  // of each kind in a turn
};

constexpr int kPatienceMs = 60'000;
constexpr int kTries = 20;  // a connection may be closed before its request is sent
constexpr int kHeld = 2'500, kDeaf = 100;
constexpr uid_t kAttacker = 65'533;  // if root runs the benchmark

struct Attack {
  const char* name;
  int processes;
};
constexpr Attack kAttacks[] = {{"hold", 4}, {"come_and_go", 1}, {"garbage", 1}, {"deaf", 1}};
constexpr char kControl[] = "spin";

// When the client and the daemon run after they are woken on a busy CPU: in their turn, or at
// once. At once, other processes get only the time that these two leave, as with CPUs to spare.
enum class Wakes { kInTurn, kAtOnce };
constexpr Wakes kWakes[] = {Wakes::kInTurn, Wakes::kAtOnce};

const char* name_of(Wakes wakes) {
  return wakes == Wakes::kInTurn ? "in_turn" : "at_once";
}

enum class Request { kStatus, kSample, kFill };
constexpr Request kRequests[] = {Request::kStatus, Request::kSample, Request::kFill};

const char* name_of(Request request) {
  switch (request) {
    case Request::kStatus:
      return "status";
    case Request::kSample:
      return "sample";
    case Request::kFill:
      return "fill";
  }
  return "";
}

std::string frame_packet(MessageType type, const std::string& dataset,
                         const std::string& name) {
  std::string packet(kMaxMessage, '\0');
  packet.resize(encode_frame_message(type, 1, kWaitForIt, dataset.c_str(), name.c_str(),
                                     packet.data(), packet.size()));
  return packet;
}

std::string status_packet() {
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = MessageType::kStatus;
  header.flags = kWaitForIt;
  header.request = 1;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header);
}

class Guest {  // asks as a program or a tool does: a new connection for each request
 public:
  Guest(const BenchLayout& layout, int requests) : layout_(layout), requests_(requests) {}

  // Milliseconds.
  std::vector<double> ask(Request request) const {
    std::string packet = status_packet();
    UniqueFd origin;
    if (request == Request::kSample)
      packet = frame_packet(MessageType::kSample, layout_.dataset(), "");
    if (request == Request::kFill) {
      packet = frame_packet(MessageType::kFill, layout_.dataset(), layout_.frame_name(0));
      origin = UniqueFd(open(layout_.origin(0).c_str(), O_RDONLY | O_CLOEXEC));
    }
    std::vector<double> times;
    for (int i = 0; i < requests_; ++i) {
      Clock::time_point begin = Clock::now();
      int code = ECONNRESET;
      for (int tries = 0; code == ECONNRESET && tries < kTries; ++tries) {
        code = ask_once(packet, origin.get());
      }
      if (code != 0) throw Error{code, std::string("a request of ") + name_of(request), {}};
      times.push_back(seconds_since(begin) * 1e3);
      if (interruption() != 0) throw Error{EINTR, "a client", {}};
    }
    return times;
  }

 private:
  int ask_once(const std::string& packet, int passed_fd) const {
    int connected = connect_daemon(layout_.runtime().c_str(), kPatienceMs);
    if (connected < 0) return -connected;
    UniqueFd socket(connected);
    int sent = send_message(socket.get(), packet.data(), packet.size(), passed_fd, kPatienceMs);
    if (sent == -EPIPE) return ECONNRESET;
    if (sent < 0) return -sent;
    char buffer[kMaxMessage];
    int answer_fd = -1;
    int size = receive_message(socket.get(), buffer, sizeof buffer, &answer_fd, kPatienceMs);
    UniqueFd closed(answer_fd);
    if (size <= 0) return size == 0 ? ECONNRESET : -size;
    return reinterpret_cast<const MessageHeader*>(buffer)->status;
  }

  const BenchLayout& layout_;
  const int requests_;
};

struct RoundTimes {  // of one kind of request; one element for each round
  std::vector<double> calm_p50, calm_p99, control_p99, attacked_p50, attacked_p99;
};

std::vector<WorkerProcess> start_attack(const Programs& programs, const char* name,
                                        int processes, const BenchLayout& layout) {
  std::vector<WorkerProcess> attackers;
  for (int i = 0; i < processes; ++i) {
    attackers.push_back(take(WorkerProcess::start(
        {programs.self, "clients-attacker", name, layout.runtime()}, plain_environment())));
    take(attackers.back().take_turn("attack"));
  }
  return attackers;
}

// Nobody else, then processes that only take as much of the CPU as they get, then the attack.
void run_round(const Programs& programs, const Attack& attack, const BenchLayout& layout,
               const Guest& guest, std::vector<RoundTimes>& turns) {
  for (const char* other : {"", kControl, attack.name}) {
    std::vector<WorkerProcess> others;
    if (*other != '\0') {
      std::vector<WorkerProcess> started =
          start_attack(programs, other, attack.processes, layout);
      others = std::move(started);
    }
    for (std::size_t i = 0; i < std::size(kRequests); ++i) {
      std::vector<double> times = guest.ask(kRequests[i]);
      double p50 = median(times), p99 = percentile(times, 0.99);
      if (other == attack.name) {
        turns[i].attacked_p50.push_back(p50);
        turns[i].attacked_p99.push_back(p99);
      } else if (*other != '\0') {
        turns[i].control_p99.push_back(p99);
      } else {
        turns[i].calm_p50.push_back(p50);
        turns[i].calm_p99.push_back(p99);
      }
    }
  }
}

void run_at_once(pid_t thread, int policy) {
  sched_param priority = {.sched_priority = 10};
  if (sched_setscheduler(thread, policy, &priority) == 0) return;
  throw Error{errno, "a real-time priority", "root may have one"};
}

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", process));
  return {std::istream_iterator<pid_t>(file), {}};
}

// The directory of a process that cannot be traced is root's, whoever its user is.
uid_t user_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Uid:")) return static_cast<uid_t>(std::stoul(line.substr(4)));
  }
  return ~uid_t{0};
}

// Those that serve this user.
std::vector<pid_t> workers_of(pid_t daemon) {
  std::vector<pid_t> workers;
  for (pid_t forker : children_of(daemon)) {
    for (pid_t worker : children_of(forker)) {
      if (user_of(worker) == geteuid()) workers.push_back(worker);
    }
  }
  return workers;
}

// The daemon and the client's worker, with the threads that they start, and this process
// without those that it starts.
void wake_at_once(pid_t daemon) {
  std::vector<pid_t> processes = workers_of(daemon);
  if (processes.empty()) throw Error{ESRCH, "the client's worker", {}};
  processes.push_back(daemon);
  for (pid_t process : processes) {
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
      run_at_once(std::stoi(thread.path().filename()), SCHED_FIFO);
    }
  }
  return run_at_once(0, SCHED_FIFO | SCHED_RESET_ON_FORK);
}

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

UniqueFd connection(const std::string& runtime) {
  return UniqueFd(connect_daemon(runtime.c_str(), kPatienceMs));
}

void ask_and_never_read(const std::vector<UniqueFd>& deaf) {
  const std::string packet = frame_packet(MessageType::kList, "", "");
  std::vector<pollfd> writable;
  for (const UniqueFd& one : deaf) writable.push_back({one.get(), POLLOUT, 0});
  for (;;) {
    poll(writable.data(), writable.size(), 1'000);
    for (pollfd& one : writable) {
      if (one.revents != 0 &&
          send(one.fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
          errno != EAGAIN) {
        one.fd = -1;  // the daemon has closed it
      }
    }
  }
}

Figures measure(const BenchPlace& place, const ClientsOptions& options) {
  BenchNode node = BenchNode::start(place, geteuid() == 0);
  Guest guest(node.layout(), options.requests);
  Figures figures = Figures::array();
  for (Wakes wakes : kWakes) {
    if (wakes == Wakes::kAtOnce) {
      wake_at_once(node.daemon());
    }
    for (const Attack& attack : kAttacks) {
      std::vector<RoundTimes> turns(std::size(kRequests));
      for (int i = 0; i < options.rounds; ++i) {
        run_round(place.programs, attack, node.layout(), guest, turns);
      }
      for (std::size_t i = 0; i < std::size(kRequests); ++i) {
        const RoundTimes& all = turns[i];
        figures.push_back(
            {{"attack", attack.name},
             {"wakes", name_of(wakes)},
             {"request", name_of(kRequests[i])},
             {"calm_p50_ms", median(all.calm_p50)},
             {"calm_p99_ms", median(all.calm_p99)},
             {"control_p99_ms", median(all.control_p99)},
             {"attacked_p50_ms", median(all.attacked_p50)},
             {"attacked_p99_ms", median(all.attacked_p99)},
             {"p99_to_calm", median(ratios(all.attacked_p99, all.calm_p99))},
             {"p99_to_control", median(ratios(all.attacked_p99, all.control_p99))}});
      }
    }
  }
  node.stop();
  return figures;
}

// A process of its own: attacks once a line has come, answers when the attack is under way, and
// goes on until it is ended. Its exit status.
int clients_attacker(const std::string& attack, const std::string& runtime) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (geteuid() == 0 &&
      (setgroups(0, nullptr) != 0 || setgid(kAttacker) != 0 || setuid(kAttacker) != 0)) {
    return 1;
  }
  std::string line;
  if (!std::getline(std::cin, line)) return 1;
  int held = attack == "hold" ? kHeld : attack == "deaf" ? kDeaf : 0;
  std::vector<UniqueFd> connections;
  for (int i = 0; i < held; ++i) connections.push_back(connection(runtime));
  std::cout << "[]" << std::endl;
  if (attack == "hold") wait_for_the_end();
  for (volatile std::uint64_t spins = 0; attack == kControl;) spins = spins + 1;
  if (attack == "deaf") ask_and_never_read(connections);
  for (;;) {
    UniqueFd socket = connection(runtime);
    if (attack == "garbage") (void)!send(socket.get(), "garbage", 7, MSG_NOSIGNAL);
  }
}

}  // namespace

void add_clients_bench(CommandLine& line) {
  static ClientsOptions options;
  line.benchmark("clients",
                 "Compare a client's requests with and without others that attack the daemon.",
                 "\nExample:\n  zazen-bench clients --rounds 3\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .number("--rounds", &options.rounds, 1, 1000, "Pairs of each attack (default: 5)")
      .number("--requests", &options.requests, 1, 1'000'000,
              "Of each kind in a turn (default: 500)");
  line.worker("clients-attacker", 2,
              [](const auto& words) { return clients_attacker(words[0], words[1]); });
}

}  // namespace zazen
