#include "tools/support/path_meaning.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

namespace zazen {
namespace {

class PathMeaningTest : public testing::Test {
 protected:
  PathMeaningTest() {
    char name[] = "/tmp/tools-test-XXXXXX";
    root_ = ::mkdtemp(name);
    for (const char* each : {"/sim", "/sim/run1", "/other"}) {
      ::mkdir((root_ + each).c_str(), 0700);
    }
    add("/sim", "run1/x-{seq:03}");
    add("/nowhere", "f{seq}");
  }
  ~PathMeaningTest() override { std::filesystem::remove_all(root_); }

  void add(const std::string& path, const std::string& frames) {
    KnownDataset dataset{root_ + path, frames, {}, nullptr, nullptr};
    const char* why;
    ASSERT_TRUE(FrameName::parse(frames.data(), frames.size(), &dataset.name, &why));
    datasets_.push_back(dataset);
  }
  PathMeaning meaning(const std::string& path) { return meaning_of(datasets_, root_ + path); }

  std::string root_;
  std::vector<KnownDataset> datasets_;
};

TEST_F(PathMeaningTest, FramesByTheirDirectory) {
  for (const char* path :
       {"/sim/run1/x-007", "/sim//run1/x-007", "/other/../sim/run1/./x-007"}) {
    PathMeaning found = meaning(path);
    EXPECT_EQ(found.kind, PathMeaning::kFrame) << path;
    EXPECT_EQ(found.seq, 7u);
    EXPECT_EQ(found.dataset, &datasets_[0]);
  }
  // The shim knows it by its name, whether the directory is there or not.
  EXPECT_EQ(meaning("/nowhere/f3").kind, PathMeaning::kFrame);
}

TEST_F(PathMeaningTest, RulesThatSayNo) {
  auto rule = [this](const char* path) {
    PathMeaning found = meaning(path);
    EXPECT_EQ(found.kind, PathMeaning::kOther) << path;
    return found.rule;
  };
  EXPECT_NE(rule("/sim/run1/x-7").find("writes x-007"), std::string::npos);
  EXPECT_NE(rule("/sim/run1/x-0007").find("writes x-007"), std::string::npos);
  EXPECT_NE(rule("/sim/run1/x-99999999999999999999999").find("an ordinary name"),
            std::string::npos);
  EXPECT_NE(rule("/sim/run1/y-007").find("an ordinary name"), std::string::npos);
  EXPECT_NE(rule("/other/x-007").find("another directory"), std::string::npos);
  EXPECT_NE(rule("/sim/x-007").find("another directory"), std::string::npos);
  EXPECT_NE(rule("/other/y").find("no dataset's template"), std::string::npos);
  EXPECT_NE(rule("/gone/y").find("does not exist"), std::string::npos);
  EXPECT_NE(rule("/other").find("a directory"), std::string::npos);
}

TEST_F(PathMeaningTest, Directories) {
  EXPECT_EQ(meaning("/sim/run1").kind, PathMeaning::kFrameDirectory);
  EXPECT_EQ(meaning("/sim/run1/").kind, PathMeaning::kFrameDirectory);
  EXPECT_EQ(meaning("/sim").kind, PathMeaning::kDatasetDirectory);
}

}  // namespace
}  // namespace zazen
