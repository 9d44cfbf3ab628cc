#include "bodhi/node/prometheus_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

struct Metric {
  const char* name;  // without "zazen_"
  const char* type;
  const char* help;
  const char* key;  // in the status
};

constexpr Metric kOfTheNode[] = {
    {"uptime_seconds", "gauge", "Since the daemon started.", "uptime_seconds"},
    {"capacity_bytes", "gauge", "The most that copies may take; 0: no limit.",
     "capacity_bytes"},
    {"used_bytes", "gauge", "What the copies take.", "used_bytes"},
    {"used_files", "gauge", "Copies that are held.", "used_files"},
    {"hits_total", "counter", "Opens of frames that a copy answered.", "hits"},
    {"misses_total", "counter", "Opens of frames that went to the origin.", "misses"},
    {"evictions_total", "counter", "Copies that were evicted.", "evictions"},
    {"fills_total", "counter", "Frames that were fetched after a miss.", "fills"},
    {"fills_dropped_total", "counter", "Fills that found the queue full.", "fills_dropped"},
    {"fills_failed_total", "counter", "Fills and pushes that failed.", "fills_failed"},
    {"pushes_total", "counter", "Frames that were pushed.", "pushes"},
};
constexpr Metric kOfEachDataset[] = {
    {"dataset_bytes", "gauge", "What the copies of the dataset take.", "bytes"},
    {"dataset_native_files", "gauge", "Pushed copies that are held.", "native"},
    {"dataset_waiting_files", "gauge", "Pushed copies that the origin has not yet.", "waiting"},
    {"dataset_alien_files", "gauge", "Fetched copies that are held.", "alien"},
    {"dataset_hits_total", "counter", "Opens that a copy answered.", "hits"},
    {"dataset_misses_total", "counter", "Opens that went to the origin.", "misses"},
};

constexpr Metric kOfTheNetwork[] = {
    // if the node listens
    {"network_connections", "gauge", "Writers that are connected.", "connections"},
    {"network_refused_total", "counter", "Connections that were refused or broke the rules.",
     "refused"},
    {"network_frames_total", "counter", "Frames that came and are durable.", "frames"},
    {"network_failed_total", "counter", "Frames that came and were refused.", "failed"},
    {"network_bytes_total", "counter", "Bytes of frames that came.", "bytes"},
};

constexpr Metric kOfTheWriter[] = {
    {"frames_being_written", "gauge", "Frames that programs of the node are writing.",
     "being_written"},
    {"writer_queued_total", "counter", "Frames that were closed and are to be pushed.",
     "queued"},
    {"writer_pushed_total", "counter", "Of these, frames that a node holds.", "pushed"},
    {"writer_dropped_total", "counter", "Of these, frames that no node took.", "dropped"},
    {"writer_waiting", "gauge", "Of these, frames that wait for a node.", "waiting"},
};

constexpr Metric kBytes = {"bytes_total", "counter",
                           "About what programs read: opens times the mean size of the copies.",
                           ""};

// In quotes, for a label's value.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + '"';
}

void describe(const Metric& metric, std::string* text) {
  *text += fmt::format("# HELP zazen_{0} {1}\n# TYPE zazen_{0} {2}\n", metric.name, metric.help,
                       metric.type);
}

void add_all(std::span<const Metric> metrics, const Json& values, const std::string& labels,
             std::string* text) {
  for (const Metric& metric : metrics) {
    describe(metric, text);
    *text += fmt::format("zazen_{}{{{}}} {}\n", metric.name, labels,
                         values.at(metric.key).get<std::uint64_t>());
  }
}

}  // namespace

std::string prometheus_text(const Json& status) {
  std::string text;
  const std::string node = "node=" + quoted(status.at("node"));
  const Metric healthy = {"healthy", "gauge", "1 if the daemon knows of no problem.", ""};
  describe(healthy, &text);
  text +=
      fmt::format("zazen_healthy{{{}}} {}\n", node, status.at("healthy").get<bool>() ? 1 : 0);
  const Metric build = {"build_info", "gauge", "The daemon's version, in a label.", ""};
  describe(build, &text);
  text +=
      fmt::format("zazen_build_info{{{},version={}}} 1\n", node, quoted(status.at("version")));
  add_all(kOfTheNode, status, node, &text);
  if (const Json& network = status.at("network"); !network.is_null()) {
    add_all(kOfTheNetwork, network, node, &text);
  }
  add_all(kOfTheWriter, status.at("writer"), node, &text);
  for (const Metric& metric : kOfEachDataset) {
    describe(metric, &text);
    for (const Json& dataset : status.at("datasets")) {
      text +=
          fmt::format("zazen_{}{{{},dataset={}}} {}\n", metric.name, node,
                      quoted(dataset.at("path")), dataset.at(metric.key).get<std::uint64_t>());
    }
  }
  describe(kBytes, &text);
  for (const Json& dataset : status.at("datasets")) {
    for (const char* source : {"cache", "origin"}) {
      text += fmt::format("zazen_bytes_total{{{},dataset={},source=\"{}\"}} {}\n", node,
                          quoted(dataset.at("path")), source,
                          dataset.at("read_bytes").at(source).get<std::uint64_t>());
    }
  }
  return text;
}

}  // namespace zazen
