#include "tools/cluster/every_node.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "bodhi/common/units.h"
#include "bodhi/push/munge_credential.h"
#include "bodhi/push/node_link.h"
#include "tools/support/node.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostThreads = 1'024;

bool is_local(const NodePlace& place) {
  return place.peer.starts_with("unix:");
}

[[noreturn]] void exit_for_usage(const Error& error) {
  usage_error(error);
  std::exit(kUsage);
}

// A user who may not read the key may have MUNGE.
Result<Credentials> credentials_for(const Config& config) {
  Result<Credentials> loaded = load_credentials(config.key_file);
  if (loaded || loaded.error().code != EACCES || !munge_answers()) return loaded;
  return Credentials{"", true, {}};
}

std::string reason_of(const Error& error, std::chrono::milliseconds timeout) {
  if (error.code == ETIMEDOUT) {
    return fmt::format("no answer within {} s", static_cast<double>(timeout.count()) / 1000);
  }
  if (error.code == ECONNREFUSED) return "no daemon answers there";
  if (error.code == ENOENT) return "it does not serve the dataset";
  if (is_silence(error)) return std::string("no answer: ") + std::strerror(error.code);
  if (error.code == EPERM) {
    return "it serves all users: the key shows the status only; MUNGE says who asks";
  }
  if (error.code == EACCES && error.context == "the daemon refused") {
    return "only root and the owner of the directory may do this";
  }
  if (error.code == EACCES && error.context == "the node refused") {
    return "it refused: is the key the same on both machines?";
  }
  const bool has_reason = !error.context.empty() && error.context != "the daemon refused";
  return has_reason ? error.context : std::strerror(error.code);
}

}  // namespace

struct EveryNode::Round {
  Work work;
  Credentials credentials;
  std::chrono::milliseconds timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0, done = 0;
  std::vector<NodeAnswer> answers;
};

EveryNode EveryNode::load_or_exit(const Config& config, const NodesOptions& options) {
  EveryNode nodes;
  if (!options.nodes.empty() && options.all_nodes) {
    exit_for_usage({EINVAL, "both --nodes and --all", "say one of them"});
  }
  Result<std::uint64_t> timeout = parse_time_ms(options.timeout);
  if (!timeout || *timeout == 0 || *timeout > 86'400'000) {
    exit_for_usage({EINVAL, options.timeout + ": not a time limit", "for example 10s or 2min"});
  }
  nodes.timeout_ = std::chrono::milliseconds(*timeout);
  Result<std::vector<NodePlace>> places =
      options.all_nodes ? zazen::all_nodes(config) : nodes_of_list(config, options.nodes);
  if (!places) exit_for_usage(places.error());
  nodes.places_ = std::move(*places);
  if (std::ranges::all_of(nodes.places_, is_local)) return nodes;
  Result<Credentials> credentials = credentials_for(config);
  if (!credentials) exit_for_usage(credentials.error());
  nodes.credentials_ = std::move(*credentials);
  return nodes;
}

// A node that cannot be reached is one that does not answer, whatever the reason.
Result<Json> EveryNode::ask_one(const Round& round, std::size_t node, const std::string& peer,
                                bool* was_refused) {
  const auto refuse = [was_refused](const Error& error) {
    *was_refused = error.code == EACCES || error.code == EPROTO || error.code == EOPNOTSUPP ||
                   error.code == EADDRNOTAVAIL;
    return error;
  };
  Result<Client> client =
      connect_client(peer, round.credentials, static_cast<int>(round.timeout.count()));
  if (!client) return refuse(client.error());
  try {
    Result<Json> figures = round.work(*client, node);
    if (!figures) *was_refused = !is_silence(figures.error());
    return figures;
  } catch (const Json::exception&) {
    return refuse({EPROTO, "its answer is not understood: is it of the same version?", {}});
  }
}

void EveryNode::run(const std::shared_ptr<Round>& round) {
  std::unique_lock lock(round->mutex);
  while (round->next < round->answers.size()) {
    const std::size_t mine = round->next++;
    const std::string peer = round->answers[mine].node.peer;
    lock.unlock();
    bool was_refused = false;
    const Result<Json> figures = ask_one(*round, mine, peer, &was_refused);
    lock.lock();
    NodeAnswer& answer = round->answers[mine];
    answer.is_silent = !figures && !was_refused;
    answer.failure = figures ? "" : reason_of(figures.error(), round->timeout);
    if (figures) answer.figures = *figures;
    ++round->done;
    round->changed.notify_all();
  }
}

std::vector<NodeAnswer> EveryNode::ask(Limit limit, Work work) {
  auto round = std::make_shared<Round>();
  round->work = std::move(work);
  round->credentials = credentials_;
  round->timeout = timeout_;
  const Error silence{ETIMEDOUT, {}, {}};
  for (const NodePlace& place : places_) {
    round->answers.push_back({place, {}, reason_of(silence, timeout_), true});
  }
  const std::size_t threads = std::min(places_.size(), kMostThreads);
  for (std::size_t i = 0; i < threads; ++i) {
    try {
      std::thread([round] { run(round); }).detach();
    } catch (const std::system_error&) {
      if (i == 0) run(round);
      break;  // the others serve all nodes
    }
  }
  const auto all_done = [&] { return round->done == round->answers.size(); };
  std::unique_lock lock(round->mutex);
  if (limit == Limit::kSilence) {
    round->changed.wait(lock, all_done);
  } else {
    // The links have the same limit and say more.
    round->changed.wait_until(lock, Clock::now() + timeout_ + timeout_ / 10, all_done);
  }
  has_stragglers_ = has_stragglers_ || !all_done();
  round->next = round->answers.size();
  return round->answers;
}

int EveryNode::outcome(const std::vector<NodeAnswer>& answers) {
  const auto silent = [](const NodeAnswer& answer) { return answer.is_silent; };
  if (std::ranges::all_of(answers, silent)) return kNoDaemon;
  return std::ranges::all_of(answers, &NodeAnswer::is_fine) ? kDone : kFailed;
}

int EveryNode::end(int outcome) const {
  if (!has_stragglers_) return outcome;
  std::fflush(nullptr);
  ::_exit(outcome);
}

void print_nodes_json(const std::vector<NodeAnswer>& answers) {
  Json nodes = Json::array();
  for (const NodeAnswer& answer : answers) {
    Json node = {
        {"node", answer.node.name}, {"peer", answer.node.peer}, {"answers", !answer.is_silent}};
    if (answer.is_fine()) node.update(answer.figures);
    if (!answer.is_fine()) node["error"] = answer.failure;
    nodes.push_back(std::move(node));
  }
  print_json({{"nodes", nodes}});
}

void print_nodes_table(const std::vector<NodeAnswer>& answers, std::vector<std::string> titles,
                       const std::function<std::vector<std::string>(const Json&)>& row) {
  titles.insert(titles.begin(), "NODE");
  TextTable table(titles);
  for (const NodeAnswer& answer : answers) {
    std::vector<std::string> cells(titles.size() - 1, "-");
    if (answer.is_fine()) cells = row(answer.figures);
    cells.insert(cells.begin(), printable(answer.node.name));
    table.add(std::move(cells));
  }
  table.print();
  std::fflush(stdout);
  for (const NodeAnswer& answer : answers) {
    if (answer.is_fine()) continue;
    print_error(answer.node.name + ": " + answer.failure,
                answer.is_silent ? "on that node: zazenctl doctor"
                                 : "on that node: zazenctl status, zazenctl explain PATH");
  }
}

}  // namespace zazen
