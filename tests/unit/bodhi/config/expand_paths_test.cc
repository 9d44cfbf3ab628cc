// Paths with '*', and the datasets that come from elsewhere than a [[dataset]] block.
#include "bodhi/config/expand_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "bodhi/config/joined_datasets.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

using Paths = std::vector<std::string>;

TEST(ExpandPath, StarStandsForDirectories) {
  const Scratch scratch;
  for (const char* path : {"b/traj1", "a/traj2", "a/traj1/x", "a/.hidden", "c/other"}) {
    std::filesystem::create_directories(scratch / path);
  }
  write_file(scratch / "a/traj3", "a file");
  std::filesystem::create_directory_symlink(scratch / "c", scratch / "d");
  std::filesystem::create_directory_symlink(scratch / "c/other", scratch / "a/traj4");

  const auto expanded = [&](const std::string& pattern) {
    const ExpandedPath found = expand_path(scratch / pattern);
    EXPECT_TRUE(found.is_known);
    return found.paths;
  };
  EXPECT_EQ(expanded("*/traj*"),
            (Paths{scratch / "a/traj1", scratch / "a/traj2", scratch / "b/traj1"}));
  EXPECT_EQ(expanded("*/other"), Paths{scratch / "c/other"}) << "d is a link";
  EXPECT_EQ(expanded("a/*/x"), Paths{scratch / "a/traj1/x"});
  EXPECT_EQ(expanded("d/*"), Paths{scratch / "d/other"}) << "d is no pattern";
  EXPECT_EQ(expanded("a/.*"), Paths{scratch / "a/.hidden"});
  EXPECT_EQ(expanded("nowhere/*"), Paths());
  EXPECT_EQ(expand_paths({scratch / "b/*", scratch / "x*"}, std::chrono::seconds(30))[0].paths,
            Paths{scratch / "b/traj1"});
  for (int i = 0; i < 300; ++i) {
    std::filesystem::create_directory(scratch / "b/many" + std::to_string(i));
  }
  EXPECT_EQ(expanded("b/many*").size(), ExpandedPath::kMost);
}

TEST(ExpandPath, MatchesByComponents) {
  EXPECT_TRUE(path_matches("/proj/a/traj1", "/proj/*/traj*"));
  EXPECT_TRUE(path_matches("/proj", "/*"));
  EXPECT_FALSE(path_matches("/proj/a/b/traj1", "/proj/*/traj*"));
  EXPECT_FALSE(path_matches("/proj/traj1", "/proj/*/traj*"));
  EXPECT_FALSE(path_matches("/proj/.a/traj1", "/proj/*/traj*"));
  EXPECT_FALSE(path_matches("/proj/a/../traj1", "/proj/*/*/traj*"));
  EXPECT_FALSE(path_matches("", "/*"));
}

Config config_of(const std::string& datasets, const std::string& keys = "") {
  const Result<Config> config =
      parse_config("cache = \"/c\"\nruntime = \"/r\"\n" + keys + datasets, "z.toml");
  EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().context);
  return config.ok() ? *config : Config();
}

std::string block(const std::string& path) {
  return "[[dataset]]\npath = \"" + path + "\"\nframes = \"f{seq}\"\nfilter = false\n";
}

Paths paths_of(const DatasetList<DatasetConfig>& datasets) {
  Paths paths;
  for (const DatasetConfig& each : datasets) paths.push_back(each.path);
  return paths;
}

TEST(JoinedDatasets, PatternsAreNoDatasetsYet) {
  const Config config = config_of(block("/sim/*") + block("/sim/one") + block("/c/*"));
  EXPECT_EQ(paths_of(config.datasets), Paths{"/sim/one"});
  ASSERT_EQ(config.patterns.size(), 2U);
  EXPECT_EQ(config.patterns[0].path, "/sim/*");
  EXPECT_EQ(config.patterns[0].filter, FilterMode::kOff);
}

TEST(JoinedDatasets, WhatOverlapsIsLeftOut) {
  Config config = config_of(block("/sim/one") + block("/sim/*"));
  std::vector<DatasetConfig> more;
  for (const char* path : {"/sim/two", "/sim/one", "/sim/one/x", "/sim/two", "/c/x", "/r",
                           "/sim", "/sim/new\nline", "/sim/three"}) {
    more.push_back(config.patterns[0]);
    more.back().path = path;
  }
  const std::vector<LeftOut> left_out = join_datasets(more, follow_links, &config);
  EXPECT_EQ(paths_of(config.datasets), (Paths{"/sim/one", "/sim/two", "/sim/three"}));
  ASSERT_EQ(left_out.size(), 7U);
  EXPECT_EQ(left_out[0].why, "dataset '/sim/one' is the same as '/sim/one'");
  EXPECT_EQ(left_out[3].why, "dataset '/c/x' is inside the cache '/c'");
  EXPECT_EQ(left_out[6].why, "it has control characters, or bytes that are no UTF-8");
  more.clear();
  for (int i = 0; i < 300; ++i) {
    more.push_back(config.patterns[0]);
    more.back().path = "/other/" + std::to_string(i);
  }
  EXPECT_EQ(join_datasets(more, follow_links, &config).size(), 300 + 3 - kMaxDatasets);
  EXPECT_EQ(config.datasets.size(), kMaxDatasets);
}

TEST(JoinedDatasets, PathsOfOthersArePlain) {
  EXPECT_EQ(describe_bad_path("/a b/\"c\\/\xc3\xa4"), "");
  for (const char* path : {"", "/", "a", "/a/", "//a", "/a/./b", "/a/..", "/a\x7f", "/a\x1b",
                           "/\xff", "/\xc0\xaf", "/\xed\xa0\x80", "/\xc2\x85", "/\xe2\x82"}) {
    EXPECT_NE(describe_bad_path(path), "") << path;
  }
  EXPECT_EQ(describe_bad_path("/" + std::string(kMaxPath - 2, 'x')), "");
  EXPECT_NE(describe_bad_path("/" + std::string(kMaxPath - 1, 'x')), "");
}

TEST(JoinedDatasets, DatasetsOfUsersAreTheOperatorsDecision) {
  EXPECT_TRUE(config_of(block("/s")).takes_datasets_of_users()) << "the daemon's own user";
  EXPECT_FALSE(config_of(block("/s"), "users = \"all\"\n").takes_datasets_of_users());
  const Config config = config_of("", "users = \"all\"\nuser_datasets = true\n");
  EXPECT_TRUE(config.takes_datasets_of_users());
  EXPECT_TRUE(config.datasets.empty());
  const auto wrong = parse_config(
      "cache = \"/c\"\nruntime = \"/r\"\nuser_datasets = 1\n" + block("/s"), "z.toml");
  EXPECT_EQ(wrong.error().context, "z.toml:3: 'user_datasets' must be true or false");
}

}  // namespace
}  // namespace zazen
