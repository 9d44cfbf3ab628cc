#include "tools/bench/benchmarks/clients_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPatienceMs = 60'000;
constexpr int kTries = 20;  // a connection may have to give way before its request is sent
constexpr int kHeld = 2'500, kDeaf = 100;
constexpr uid_t kAttacker = 65'533;  // if root runs the benchmark

struct Attack {
  const char* name;
  int processes;
};
constexpr Attack kAttacks[] = {{"hold", 4}, {"come_and_go", 1}, {"garbage", 1}, {"deaf", 1}};
constexpr char kControl[] = "spin";

// How soon the client and the daemon run when they are woken on a CPU that is busy: in their
// turn, or at once, so that others have only what those two leave, as if there were CPUs to
// spare.
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
  Result<std::vector<double>> ask(Request request) const {
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
      if (code != 0) return Error{code, std::string("a request of ") + name_of(request), {}};
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
      if (interruption() != 0) return Error{EINTR, "a client", {}};
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

struct Turns {  // of one kind of request; one element for each round
  std::vector<double> calm_p50, calm_p99, control_p99, attacked_p50, attacked_p99;
};

Result<std::vector<WorkerProcess>> start_attack(const Programs& programs, const char* name,
                                                int processes, const BenchLayout& layout) {
  std::vector<WorkerProcess> attackers;
  for (int i = 0; i < processes; ++i) {
    Result<WorkerProcess> one = WorkerProcess::start(
        {programs.self, "clients-attacker", name, layout.runtime()}, plain_environment());
    if (!one) return one.error();
    attackers.push_back(std::move(*one));
    if (auto ready = attackers.back().take_turn("attack"); !ready) return ready.error();
  }
  return attackers;
}

// Nobody else, then processes that only take as much of the CPU as they get, then the attack.
Status run_round(const Programs& programs, const Attack& attack, const BenchLayout& layout,
                 const Guest& guest, std::vector<Turns>& turns) {
  for (const char* other : {"", kControl, attack.name}) {
    std::vector<WorkerProcess> others;
    if (*other != '\0') {
      Result<std::vector<WorkerProcess>> started =
          start_attack(programs, other, attack.processes, layout);
      if (!started) return started.error();
      others = std::move(*started);
    }
    for (std::size_t i = 0; i < std::size(kRequests); ++i) {
      Result<std::vector<double>> times = guest.ask(kRequests[i]);
      if (!times) return times.error();
      double p50 = median(*times), p99 = percentile(*times, 0.99);
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
  return Done{};
}

double median_ratio(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
  return median(ratios);
}

Status run_at_once(pid_t thread, int policy) {
  sched_param priority = {.sched_priority = 10};
  if (sched_setscheduler(thread, policy, &priority) == 0) return Done{};
  return Error{errno, "a real-time priority", "root may have one"};
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
Status wake_at_once(pid_t daemon) {
  std::vector<pid_t> processes = workers_of(daemon);
  if (processes.empty()) return Error{ESRCH, "the client's worker", {}};
  processes.push_back(daemon);
  for (pid_t process : processes) {
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
      Status done = run_at_once(std::stoi(thread.path().filename()), SCHED_FIFO);
      if (!done) return done.error();
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

}  // namespace

Result<std::vector<ClientFigures>> measure_clients(const ClientsBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<BenchNode> node =
      BenchNode::start(programs->zazend, options.directory, geteuid() == 0);
  if (!node) return node.error();
  Guest guest(node->layout(), options.requests);
  std::vector<ClientFigures> figures;
  for (Wakes wakes : kWakes) {
    if (wakes == Wakes::kAtOnce) {
      if (Status done = wake_at_once(node->daemon()); !done) return done.error();
    }
    for (const Attack& attack : kAttacks) {
      std::vector<Turns> turns(std::size(kRequests));
      for (int i = 0; i < options.rounds; ++i) {
        Status done = run_round(*programs, attack, node->layout(), guest, turns);
        if (!done) return done.error();
      }
      for (std::size_t i = 0; i < std::size(kRequests); ++i) {
        const Turns& all = turns[i];
        figures.push_back({attack.name, name_of(wakes), name_of(kRequests[i]),
                           median(all.calm_p50), median(all.calm_p99), median(all.control_p99),
                           median(all.attacked_p50), median(all.attacked_p99),
                           median_ratio(all.attacked_p99, all.calm_p99),
                           median_ratio(all.attacked_p99, all.control_p99)});
      }
    }
  }
  if (Status stopped = node->stop(); !stopped) return stopped.error();
  return figures;
}

void print_client_figures(const std::vector<ClientFigures>& figures, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ClientFigures& one : figures) {
    if (as_json) {
      all.push_back({{"attack", one.attack},
                     {"wakes", one.wakes},
                     {"request", one.request},
                     {"calm_p50_ms", one.calm_p50_ms},
                     {"calm_p99_ms", one.calm_p99_ms},
                     {"control_p99_ms", one.control_p99_ms},
                     {"attacked_p50_ms", one.attacked_p50_ms},
                     {"attacked_p99_ms", one.attacked_p99_ms},
                     {"p99_to_calm", one.p99_to_calm},
                     {"p99_to_control", one.p99_to_control}});
    } else {
      fmt::print(
          "{:12} {:9} {:7} p50 {:6.2f} -> {:6.2f} ms   p99 {:6.2f}, spinning {:6.2f}, attacked "
          "{:6.2f} ms   to calm {:5.2f}, to spinning {:5.2f}\n",
          one.attack, one.wakes, one.request, one.calm_p50_ms, one.attacked_p50_ms,
          one.calm_p99_ms, one.control_p99_ms, one.attacked_p99_ms, one.p99_to_calm,
          one.p99_to_control);
    }
  }
  if (as_json) print_figures_json(all);
}

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

}  // namespace zazen
