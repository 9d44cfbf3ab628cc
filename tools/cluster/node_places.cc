#include "tools/cluster/node_places.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "bodhi/config/push_address.h"
#include "tools/cluster/host_list.h"

namespace zazen {
namespace {

constexpr std::string_view kLocal = "unix:";
constexpr char kDefaultPort[] = "7117";

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Runtime directories are named by the last component in which all of them differ:
// /run/zazen/n0 and /run/zazen/n1, or n0/run and n1/run, are n0 and n1.
std::vector<NodePlace> local_places(const std::vector<std::string>& peers) {
  std::vector<std::vector<std::string>> paths;
  for (const std::string& peer : peers) {
    if (peer.starts_with(kLocal)) paths.push_back(components(peer.substr(kLocal.size())));
  }
  std::size_t depth = 0;
  for (bool differ = false; !differ && paths.size() > 1;) {
    ++depth;
    std::set<std::string> names;
    for (const auto& path : paths) {
      if (path.size() >= depth) names.insert(path[path.size() - depth]);
    }
    differ = names.size() == paths.size();
    if (names.empty()) paths.clear();
  }
  std::vector<NodePlace> places;
  std::size_t next = 0;
  for (const std::string& peer : peers) {
    if (!peer.starts_with(kLocal)) continue;
    const bool has_name = paths.size() > 1;
    places.push_back({has_name ? paths[next][paths[next].size() - depth] : peer, peer});
    ++next;
  }
  return places;
}

// A host that several peers have is not enough of a name.
std::vector<NodePlace> places_of_peers(const std::vector<std::string>& peers) {
  std::vector<NodePlace> places, local = local_places(peers);
  auto next_local = local.begin();
  std::multiset<std::string> hosts;
  for (const std::string& peer : peers) {
    const auto address = parse_push_address(peer);
    if (address) hosts.insert(address->host);
  }
  for (const std::string& peer : peers) {
    if (peer.starts_with(kLocal)) {
      places.push_back(*next_local++);
      continue;
    }
    const auto address = parse_push_address(peer);
    const bool is_name = address && hosts.count(address->host) == 1;
    places.push_back({is_name ? address->host : peer, peer});
  }
  return places;
}

std::string default_port(const Config& config) {
  if (const auto address = parse_push_address(config.listen)) return address->port;
  for (const std::string& peer : config.peers) {
    const auto address = parse_push_address(peer);
    if (address && !peer.starts_with(kLocal)) return address->port;
  }
  return kDefaultPort;
}

Result<std::string> slurm_nodes() {
  const char* job = std::getenv("SLURM_JOB_NODELIST");
  if (job != nullptr && *job != '\0') return std::string(job);
  std::string list;
  std::unique_ptr<FILE, int (*)(FILE*)> sinfo(::popen("sinfo -h -o %N 2>/dev/null", "r"),
                                              [](FILE* file) { return ::pclose(file); });
  char part[4096];
  while (sinfo && std::fgets(part, sizeof part, sinfo.get()) != nullptr) {
    list += list.empty() ? "" : ",";
    list += part;
    while (!list.empty() && list.back() == '\n') list.pop_back();
  }
  if (!list.empty()) return list;
  return Error{ENOENT, "--all: no nodes are known: there are no peers, and Slurm lists none",
               "name them: zazenctl status --nodes n[0-3], or set peers = [...]"};
}

bool is_called(const NodePlace& place, const std::string& name) {
  if (place.peer == name || place.name == name) return true;
  const auto address = parse_push_address(place.peer);
  return address && !place.peer.starts_with(kLocal) &&
         (address->host == name || address->host.starts_with(name + "."));
}

Result<std::vector<NodePlace>> find_places(const Config& config, const std::string& list) {
  Result<std::vector<std::string>> names = expand_host_list(list);
  if (!names) return names.error();
  const std::vector<NodePlace> peers = places_of_peers(config.peers);
  std::vector<NodePlace> places;
  for (const std::string& name : *names) {
    const std::size_t before = places.size();
    std::ranges::copy_if(peers, std::back_inserter(places),
                         [&](const NodePlace& place) { return is_called(place, name); });
    if (places.size() > before) continue;
    std::string peer = name;
    if (!name.starts_with(kLocal) && !parse_push_address(name)) {
      peer += ":" + default_port(config);
      if (!parse_push_address(peer)) {
        return Error{EINVAL, name + ": not a node's name",
                     "a host, HOST:PORT, unix:RUNTIME or a range such as n[0-39]"};
      }
    }
    places.push_back({name, peer});
  }
  return places;
}

}  // namespace

Result<std::vector<NodePlace>> all_nodes(const Config& config) {
  if (!config.peers.empty()) return places_of_peers(config.peers);
  Result<std::string> list = slurm_nodes();
  if (!list) return list.error();
  return find_places(config, *list);
}

Result<std::vector<NodePlace>> nodes_of_list(const Config& config, const std::string& list) {
  return list == "all" ? all_nodes(config) : find_places(config, list);
}

}  // namespace zazen
