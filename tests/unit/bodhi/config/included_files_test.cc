// What `include` reads, and what the configuration makes of it.
#include "bodhi/config/included_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "bodhi/config/config.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

std::string dataset(const std::string& path) {
  return "[[dataset]]\npath = \"" + path + "\"\nframes = \"f{seq}\"\n";
}

class IncludedFiles : public ::testing::Test {
 protected:
  IncludedFiles() { std::filesystem::create_directory(scratch_ / "conf.d"); }

  void write_main(const std::string& include = "conf.d/*.toml",
                  const std::string& datasets = "") {
    write_file(scratch_ / "z.toml",
               "cache = \"/c\"\nruntime = \"/r\"\ninclude = \"" + include + "\"\n" + datasets);
  }
  // The paths of the datasets, or the complaint without the directory of the test.
  std::string outcome() const {
    const Result<Config> config = load_config(scratch_ / "z.toml");
    std::string out;
    if (config.ok()) {
      for (const DatasetConfig& each : config->datasets) out += each.path + " ";
      return out;
    }
    out = config.error().context + " | " + config.error().hint;
    for (std::size_t at; (at = out.find(scratch_ / "")) != out.npos;) {
      out.erase(at, scratch_.path().size() + 1);
    }
    return out;
  }

  Scratch scratch_;
};

TEST_F(IncludedFiles, ComeInTheOrderOfTheirNames) {
  write_main("conf.d/*.toml", dataset("/m"));
  EXPECT_EQ(outcome(), "/m ");
  write_file(scratch_ / "conf.d/20.toml", dataset("/b") + dataset("/a"));
  write_file(scratch_ / "conf.d/10.toml", dataset("/z"));
  write_file(scratch_ / "conf.d/30.toml", "");
  write_file(scratch_ / "conf.d/30.toml~", "no toml");
  write_file(scratch_ / "conf.d/.40.toml", "no toml");
  EXPECT_EQ(outcome(), "/m /z /b /a ");
  const std::vector<std::string> files = {
      scratch_ / "conf.d/10.toml", scratch_ / "conf.d/20.toml", scratch_ / "conf.d/30.toml"};
  EXPECT_EQ(load_config(scratch_ / "z.toml")->included, files);
}

TEST_F(IncludedFiles, PatternThatMatchesNothingIsFine) {
  for (const char* pattern : {"conf.d/*.toml", "nowhere/*.toml", "conf.d/a.toml", "x*.toml"}) {
    write_main(pattern);
    EXPECT_EQ(outcome(), "") << pattern;
  }
}

TEST_F(IncludedFiles, FileBesideTheConfigurationIsNotTheConfiguration) {
  write_main("*.toml");
  write_file(scratch_ / "y.toml", dataset("/y"));
  EXPECT_EQ(outcome(), "/y ");
  write_main(scratch_ / "y.toml");
  EXPECT_EQ(outcome(), "/y ");
}

TEST_F(IncludedFiles, ComplaintsNameFileAndLine) {
  write_main("conf.d/*.toml", dataset("/m"));
  const std::string file = scratch_ / "conf.d/a.toml";
  write_file(file, "\n\ncache = \"/d\"\n");
  EXPECT_EQ(outcome(),
            "conf.d/a.toml:3: 'cache' in a file that is included | such a file has [[dataset]] "
            "only; the other keys belong to z.toml");
  write_file(file, "include = \"*.toml\"\n");
  EXPECT_EQ(outcome().find("conf.d/a.toml:1: 'include' in"), 0U);
  write_file(file, dataset("/m/x"));
  EXPECT_EQ(outcome().find("conf.d/a.toml:1: dataset '/m/x' is inside dataset '/m'"), 0U);
  write_file(file, dataset("x"));
  EXPECT_EQ(outcome().find("conf.d/a.toml:2: 'path' must be an absolute path"), 0U);
  write_file(file, "[[dataset]\n");
  EXPECT_EQ(outcome().find("conf.d/a.toml:1:"), 0U);
  write_file(file, "dataset = 1\n");
  EXPECT_EQ(outcome().find("conf.d/a.toml:1: a dataset is written [[dataset]]"), 0U);
}

TEST_F(IncludedFiles, OddPatternsAndFilesAreRefused) {
  for (const char* pattern : {"", "conf.d", "conf.d/*", "*/a.toml", "a\\u0000.toml"}) {
    write_main(pattern);
    EXPECT_EQ(outcome().find("z.toml:3: include: '"), 0U) << pattern;
  }
  write_main();
  std::filesystem::create_directory(scratch_ / "conf.d/a.toml");
  EXPECT_EQ(outcome().find("z.toml:3: include: conf.d/a.toml is not a file"), 0U);
  std::filesystem::remove(scratch_ / "conf.d/a.toml");
  ASSERT_EQ(::mkfifo((scratch_ / "conf.d/b.toml").c_str(), 0600), 0);
  EXPECT_EQ(outcome().find("z.toml:3: include: conf.d/b.toml is not a file"), 0U);
  std::filesystem::remove(scratch_ / "conf.d/b.toml");
  write_file(scratch_ / "conf.d/c.toml", std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(outcome().find("z.toml:3: include: conf.d/c.toml has more than"), 0U);
  std::filesystem::remove(scratch_ / "conf.d/c.toml");
  for (int i = 0; i < 257; ++i)
    write_file(scratch_ / "conf.d/" + std::to_string(i) + ".toml", "");
  EXPECT_NE(outcome().find("has more than 256 such files"), std::string::npos) << outcome();
}

TEST_F(IncludedFiles, RootTakesNothingThatOthersCanWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "root only";
  write_main();
  const std::string file = scratch_ / "conf.d/a.toml";
  write_file(file, dataset("/a"));
  EXPECT_EQ(outcome(), "/a ");
  ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
  EXPECT_NE(outcome().find("conf.d/a.toml is writable by others (mode 0664) | chmod go-w"),
            std::string::npos);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(::chown(file.c_str(), 70231, 0), 0);
  EXPECT_NE(outcome().find("conf.d/a.toml is owned by uid 70231"), std::string::npos);
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod((scratch_ / "conf.d").c_str(), 01777), 0);
  EXPECT_NE(outcome().find("conf.d/ is writable by others"), std::string::npos) << outcome();
}

TEST(Pattern, StarStandsForAnyCharacters) {
  EXPECT_TRUE(matches_pattern("a.toml", "*.toml"));
  EXPECT_TRUE(matches_pattern(".toml", "*.toml"));
  EXPECT_TRUE(matches_pattern("traj1", "traj*"));
  EXPECT_TRUE(matches_pattern("aXbXbc", "a*b*c"));
  EXPECT_TRUE(matches_pattern("", "**"));
  EXPECT_FALSE(matches_pattern("a.tom", "*.toml"));
  EXPECT_FALSE(matches_pattern("atraj", "traj*"));
  EXPECT_FALSE(matches_pattern("a", ""));
  EXPECT_FALSE(matches_pattern("ab", "a"));
}

}  // namespace
}  // namespace zazen
