// The changes between two looks at a node.
#include "tools/commands/activity.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

Json dataset(const char* path, int hits, int misses) {
  return {{"path", path}, {"hits", hits}, {"misses", misses},
          {"native", 1},  {"alien", 2},   {"bytes", 3}};
}

Json status(int pid, int hits, int misses, Json datasets) {
  return {{"pid", pid},           {"uptime_seconds", 50}, {"hits", hits},
          {"misses", misses},     {"fills", 5},           {"pushes", 0},
          {"fills_failed", 0},    {"copied_bytes", 100},  {"evictions", 7},
          {"fills_under_way", 2}, {"datasets", datasets}};
}

TEST(ActivityTest, CountsWhatGrewAndPutsTheBusiestFirst) {
  Json before = status(1, 10, 10, {dataset("/a", 10, 5), dataset("/b", 0, 5)});
  Json now = status(1, 13, 11, {dataset("/a", 10, 5), dataset("/b", 3, 6)});
  Activity activity = activity_between(&before, now, 2.0);
  EXPECT_FALSE(activity.since_start);
  EXPECT_EQ(activity.seconds, 2.0);
  EXPECT_EQ(activity.hits, 3u);
  EXPECT_EQ(activity.misses, 1u);
  EXPECT_EQ(activity.hit_rate(), 0.75);
  EXPECT_EQ(activity.evictions, 0u);
  EXPECT_EQ(activity.fills_under_way, 2u);
  ASSERT_EQ(activity.datasets.size(), 2u);
  EXPECT_EQ(activity.datasets[0].path, "/b");
  EXPECT_EQ(activity.datasets[0].opens(), 4u);
  EXPECT_EQ(activity.datasets[1].hit_rate(), std::nullopt);
}

TEST(ActivityTest, AnotherDaemonBeganAtNothing) {
  Json before = status(1, 10, 10, Json::array());
  Json now = status(2, 12, 1, {dataset("/a", 12, 1)});
  Activity activity = activity_between(&before, now, 2.0);
  EXPECT_TRUE(activity.since_start);
  EXPECT_EQ(activity.seconds, 50.0);
  EXPECT_EQ(activity.hits, 12u);
  EXPECT_EQ(activity.evictions, 7u);
}

}  // namespace
}  // namespace zazen
