#include "bodhi/node/prometheus_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

// Every figure of the status is 3.
Json status_of(const std::string& node, const std::string& dataset) {
  Json status = {{"node", node}, {"version", "1.2"}, {"healthy", true}, {"network", nullptr}};
  for (const char* key :
       {"uptime_seconds", "capacity_bytes", "used_bytes", "used_files", "hits", "misses",
        "evictions", "fills", "fills_dropped", "fills_failed", "pushes"}) {
    status[key] = 3;
  }
  for (const char* key : {"being_written", "queued", "pushed", "dropped", "waiting"}) {
    status["writer"][key] = 3;
  }
  Json one = {{"path", dataset}, {"read_bytes", {{"cache", 5}, {"origin", 7}}}};
  for (const char* key : {"bytes", "native", "waiting", "alien", "hits", "misses"})
    one[key] = 3;
  status["datasets"] = Json::array({one});
  return status;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(PrometheusText, LabelsAreNodeDatasetAndSource) {
  const std::string text = prometheus_text(status_of("n0", "/sim1"));
  EXPECT_TRUE(has_line(text, "zazen_healthy{node=\"n0\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "zazen_hits_total{node=\"n0\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "zazen_build_info{node=\"n0\",version=\"1.2\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "zazen_dataset_bytes{node=\"n0\",dataset=\"/sim1\"} 3")) << text;
  EXPECT_TRUE(
      has_line(text, "zazen_bytes_total{node=\"n0\",dataset=\"/sim1\",source=\"cache\"} 5"))
      << text;
  EXPECT_TRUE(
      has_line(text, "zazen_bytes_total{node=\"n0\",dataset=\"/sim1\",source=\"origin\"} 7"))
      << text;
}

TEST(PrometheusText, ValueOfALabelCannotEndIt) {
  const std::string text = prometheus_text(status_of("n\\0", "/a\"} 9\nzazen_hits_total 9"));
  EXPECT_TRUE(has_line(text,
                       "zazen_dataset_hits_total{node=\"n\\\\0\",dataset=\"/a\\\"} "
                       "9\\nzazen_hits_total 9\"} 3"))
      << text;
  EXPECT_FALSE(has_line(text, "zazen_hits_total 9\"} 3")) << text;
}

}  // namespace
}  // namespace zazen
