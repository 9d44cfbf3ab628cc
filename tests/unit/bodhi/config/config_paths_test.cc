// Which paths of a configuration may lie where.
#include <gtest/gtest.h>

#include "bodhi/config/config.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

std::string dataset(const std::string& path) {
  return "[[dataset]]\npath = \"" + path + "\"\nframes = \"f{seq}\"\n";
}

std::string text(const std::string& cache, const std::string& runtime,
                 const std::vector<std::string>& datasets) {
  std::string out = "cache = \"" + cache + "\"\nruntime = \"" + runtime + "\"\n";
  for (const std::string& path : datasets) out += dataset(path);
  return out;
}

std::string complaint(const std::string& config) {
  auto result = parse_config(config, "z.toml");
  return result.ok() ? "fine" : result.error().context;
}

TEST(ConfigPaths, AbsoluteNormalAndBounded) {
  EXPECT_EQ(complaint(text("c", "/r", {"/s"})),
            "z.toml:1: 'cache' must be an absolute path, not 'c'");
  EXPECT_EQ(complaint(text("", "/r", {"/s"})),
            "z.toml:1: 'cache' must be an absolute path, not ''");
  EXPECT_EQ(complaint(text("/c", "r", {"/s"})),
            "z.toml:2: 'runtime' must be an absolute path, not 'r'");
  EXPECT_EQ(complaint(text("/c", "/r", {"s"})),
            "z.toml:4: 'path' must be an absolute path, not 's'");
  EXPECT_EQ(complaint(text("/c", "/r", {"/s/../t"})), "z.toml:4: 'path' must not contain '..'");
  EXPECT_EQ(complaint(text("/c/..", "/r", {"/s"})), "z.toml:1: 'cache' must not contain '..'");
  EXPECT_EQ(complaint(text("/c", "/r", {"//./"})),
            "z.toml:4: 'path' must not be the root directory");
  EXPECT_EQ(complaint(text("/c", "/r", {"/s\\u0000"})), "z.toml:4: 'path' has a NUL in it");
  std::string longest = "/" + std::string(1022, 'x');
  EXPECT_EQ(complaint(text("/c", "/r", {longest})), "fine");
  EXPECT_EQ(complaint(text("/c", "/r", {longest + "x"})),
            "z.toml:4: 'path' is longer than 1023 bytes");
  EXPECT_EQ(complaint(text("/c", "/r", {"/a..b/..c/d.."})), "fine");
}

TEST(ConfigPaths, DatasetsAreApart) {
  EXPECT_EQ(complaint(text("/c", "/r", {"/sim1", "/sim10", "/sim"})), "fine");
  EXPECT_EQ(complaint(text("/c", "/r", {"/sim1", "/x", "//sim1/"})),
            "z.toml:9: dataset '/sim1' is the same as '/sim1'");
  EXPECT_EQ(complaint(text("/c", "/r", {"/sim1", "/sim1/run"})),
            "z.toml:6: dataset '/sim1/run' is inside dataset '/sim1'");
  EXPECT_EQ(complaint(text("/c", "/r", {"/sim1/run", "/sim1"})),
            "z.toml:6: dataset '/sim1/run' is inside dataset '/sim1'");
}

TEST(ConfigPaths, CacheAndRuntimeAreOutsideDatasets) {
  EXPECT_EQ(complaint(text("/s/c", "/r", {"/s"})),
            "z.toml:3: the cache '/s/c' is inside dataset '/s'");
  EXPECT_EQ(complaint(text("/s", "/r", {"/s"})),
            "z.toml:3: the cache '/s' is inside dataset '/s'");
  EXPECT_EQ(complaint(text("/c", "/s/r", {"/s"})),
            "z.toml:3: the runtime directory '/s/r' is inside dataset '/s'");
  EXPECT_EQ(complaint(text("/c", "/r", {"/x", "/c/s"})),
            "z.toml:6: dataset '/c/s' is inside the cache '/c'");
  EXPECT_EQ(complaint(text("/c", "/r", {"/.zazen/s"})),
            "z.toml:3: dataset '/.zazen/s' would lie in the cache's own directory");
  EXPECT_EQ(complaint(text("/ca", "/ra", {"/c", "/r"})), "fine");
}

TEST(ConfigPaths, LinksAreSeenThrough) {
  Scratch scratch;
  std::filesystem::create_directories(scratch / "sim/run");
  std::filesystem::create_directory_symlink(scratch / "sim", scratch / "link");
  EXPECT_NE(
      complaint(text("/c", "/r", {scratch / "sim", scratch / "link"})).find("is the same as"),
      std::string::npos);
  EXPECT_NE(complaint(text("/c", "/r", {scratch / "sim", scratch / "link/run"}))
                .find("is inside dataset"),
            std::string::npos);
  // A cache that is yet to be made, behind a link.
  EXPECT_NE(
      complaint(text(scratch / "link/new/cache", "/r", {scratch / "sim"})).find("the cache"),
      std::string::npos);
  EXPECT_EQ(complaint(text("/c", "/r", {scratch / "sim", scratch / "simx"})), "fine");
}

TEST(ConfigPaths, ADatasetNeedNotExist) {
  Scratch scratch;
  EXPECT_EQ(complaint(text("/c", "/r", {scratch / "none"})), "fine");
}

TEST(ConfigPaths, AsManyDatasetsAsATableHolds) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < kMaxDatasets; ++i) paths.push_back("/none/s" + std::to_string(i));
  EXPECT_EQ(complaint(text("/c", "/r", paths)), "fine");
  paths.push_back("/none/more");
  EXPECT_EQ(complaint(text("/c", "/r", paths)), "z.toml:771: more than 256 datasets");
}

}  // namespace
}  // namespace zazen
