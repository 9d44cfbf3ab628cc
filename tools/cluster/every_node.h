// EveryNode: the same request to many nodes at a time, and what each has answered. An answer is
// a JSON object, so that every command prints it in two forms: a table with one line for each
// node, or JSON with one object for each.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/node/client.h"
#include "bodhi/push/key_ring.h"
#include "tools/cluster/node_places.h"
#include "tools/support/output.h"

namespace zazen {

struct NodeAnswer {
  NodePlace node;
  nlohmann::ordered_json figures;  // or
  std::string failure;             // why there are none
  bool is_silent = false;          // the node does not answer; otherwise it refuses
  bool is_fine() const { return failure.empty(); }
};

class EveryNode {
 public:
  // kOverall: for the whole request. kSilence: for a node that shows no sign of life.
  enum class Limit { kOverall, kSilence };
  // An exception of the JSON library means that the answer is not understood.
  // `node` is its place among places().
  using Work = std::function<Result<nlohmann::ordered_json>(Client& client, std::size_t node)>;

  // Prints why there is no answer to "which nodes?" and ends the program with kUsage.
  static EveryNode load_or_exit(const Config& config, const NodesOptions& options);

  const std::vector<NodePlace>& places() const { return places_; }
  // Runs `work` for each node, on threads of its own, which go on after this call for nodes
  // that have not answered: what `work` uses lives until end().
  std::vector<NodeAnswer> ask(Limit limit, Work work);

  // kDone, kFailed if a node has failed, kNoDaemon if none answers.
  static int outcome(const std::vector<NodeAnswer>& answers);
  // The outcome, to be returned; while threads wait for nodes it ends the program instead.
  int end(int outcome) const;

 private:
  struct Round;
  static void run(const std::shared_ptr<Round>& round);
  static Result<nlohmann::ordered_json> ask_one(const Round& round, std::size_t node,
                                                const std::string& peer, bool* was_refused);
  std::vector<NodePlace> places_;
  Credentials credentials_;
  std::chrono::milliseconds timeout_{};
  bool has_stragglers_ = false;
};

// {"nodes": [{"node", "peer", "answers", FIGURES... | "error"}]}
void print_nodes_json(const std::vector<NodeAnswer>& answers);
// The titles are those behind NODE; `row` makes the cells of a node's figures. The reasons of
// nodes that have failed go to standard error.
void print_nodes_table(
    const std::vector<NodeAnswer>& answers, std::vector<std::string> titles,
    const std::function<std::vector<std::string>(const nlohmann::ordered_json& figures)>& row);

}  // namespace zazen
