// Which nodes a command is for (--nodes, --all), and how each is reached.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"

namespace zazen {

struct NodesOptions {
  std::string nodes;       // --nodes
  bool all_nodes = false;  // --all
  std::string timeout = "10s";
  bool is_given() const { return all_nodes || !nodes.empty(); }
};

struct NodePlace {
  std::string name;  // for people
  std::string peer;  // "HOST:PORT" or "unix:RUNTIME"
};

// The `peers`, else the nodes of the Slurm job, else those that sinfo lists. The errors'
// context is the whole message.
Result<std::vector<NodePlace>> all_nodes(const Config& config);
// A host list ("all": as above). A host that `peers` has, or the beginning of its name up to a
// dot, is reached as said there. Other hosts have the port of the list, else that of `listen`,
// else that of the peers, else 7117.
Result<std::vector<NodePlace>> nodes_of_list(const Config& config, const std::string& list);

}  // namespace zazen
