// Which paths name a frame of a dataset: by their letters, or by the directory that they lead
// to.
#include "preload/process/dataset_matcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "bodhi/common/unique_fd.h"

namespace zazen {
namespace {

class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/matcher_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    for (const char* directory : {"/sim1/run/7", "/sim10", "/other"})
      std::filesystem::create_directories(top_ + directory);
    std::filesystem::create_symlink(top_ + "/sim1", top_ + "/link");
    path_ = top_ + "/sim1";
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  // A matcher lives in zeroed memory and never moves.
  bool make(const char* frames) {
    matcher_.reset(static_cast<DatasetMatcher*>(std::calloc(1, sizeof(DatasetMatcher))));
    return make_matcher(path_.c_str(), frames, matcher_.get());
  }
  std::optional<FrameSeq> letters(const std::string& path) const {
    FrameSeq seq = 0;
    if (!match_letters(*matcher_, path.c_str(), path.size(), &seq)) return std::nullopt;
    return seq;
  }
  std::optional<FrameSeq> frame(const std::string& path, int directory = AT_FDCWD) const {
    FrameSeq seq = 0;
    if (!match_path(*matcher_, directory, path.c_str(), path.size(), &seq)) return std::nullopt;
    return seq;
  }
  std::optional<FrameSeq> entry(const std::string& path, int directory = AT_FDCWD) const {
    FrameSeq seq = 0;
    if (!match_entry_path(*matcher_, directory, path.c_str(), path.size(), &seq))
      return std::nullopt;
    return seq;
  }
  UniqueFd open(const std::string& below) const {
    return UniqueFd(::open((top_ + below).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  struct Free {
    void operator()(DatasetMatcher* matcher) const { std::free(matcher); }
  };
  std::string top_, path_;
  std::unique_ptr<DatasetMatcher, Free> matcher_;
};

TEST_F(PlaceTest, LettersOfThePathAreCompared) {
  ASSERT_TRUE(make("f{seq}"));
  EXPECT_EQ(letters(path_ + "/f7"), 7u);
  EXPECT_EQ(letters(path_ + "/g7"), std::nullopt);
  EXPECT_EQ(letters(path_ + "/f7x"), std::nullopt);
  EXPECT_EQ(letters(path_ + "/f"), std::nullopt);
  EXPECT_EQ(letters(path_ + "/run/f7"), std::nullopt);
  EXPECT_EQ(letters(path_ + "0/f7"), std::nullopt);  // sim10
  EXPECT_EQ(letters(path_ + "xf7"), std::nullopt);
  EXPECT_EQ(letters(path_), std::nullopt);
  EXPECT_EQ(letters(path_ + "/"), std::nullopt);
  EXPECT_EQ(letters("/f7"), std::nullopt);
}

TEST_F(PlaceTest, OtherPathsAreComparedByTheirDirectory) {
  ASSERT_TRUE(make("f{seq}"));
  EXPECT_EQ(frame(top_ + "/link/f8"), 8u);
  EXPECT_EQ(frame(top_ + "/other/../sim1/f8"), 8u);
  EXPECT_EQ(frame(top_ + "/sim1//f8"), 8u);
  EXPECT_EQ(frame(top_ + "/other/f8"), std::nullopt);
  EXPECT_EQ(frame(top_ + "/sim10/f8"), std::nullopt);
  EXPECT_EQ(frame(top_ + "/missing/f8"), std::nullopt);
  EXPECT_EQ(frame(top_ + "/link/g8"), std::nullopt);
}

TEST_F(PlaceTest, RelativePathsBeginAtTheDescriptor) {
  ASSERT_TRUE(make("f{seq}"));
  const UniqueFd dataset = open("/sim1"), top = open(""), other = open("/other");
  EXPECT_EQ(frame("f9", dataset.get()), 9u);
  EXPECT_EQ(frame("./f9", dataset.get()), 9u);
  EXPECT_EQ(frame("link/f9", top.get()), 9u);
  EXPECT_EQ(frame("../sim1/f9", other.get()), 9u);
  EXPECT_EQ(frame("f9", other.get()), std::nullopt);
  EXPECT_EQ(frame("f9", -1), std::nullopt);
}

TEST_F(PlaceTest, TemplatesMayHaveDirectories) {
  ASSERT_TRUE(make("run/{seq}/traj.dcd"));
  EXPECT_EQ(frame(path_ + "/run/7/traj.dcd"), 7u);
  EXPECT_EQ(frame(top_ + "/link/run/7/traj.dcd"), 7u);
  EXPECT_EQ(frame(path_ + "/run/7/other.dcd"), std::nullopt);
  EXPECT_EQ(frame(path_ + "/7/traj.dcd"), std::nullopt);
  const UniqueFd run = open("/sim1/run");
  EXPECT_EQ(frame("7/traj.dcd", run.get()), 7u);
  EXPECT_EQ(entry("7", run.get()), 7u);
  EXPECT_EQ(entry(top_ + "/link/run/7"), 7u);
  EXPECT_EQ(entry("traj.dcd", run.get()), std::nullopt);
  EXPECT_EQ(entry(top_ + "/other/7"), std::nullopt);
}

TEST_F(PlaceTest, PlaceWithoutAGoodTemplateMatchesNothing) {
  EXPECT_FALSE(make("f"));
  EXPECT_EQ(frame(path_ + "/f"), std::nullopt);
  EXPECT_EQ(frame(top_ + "/link/f"), std::nullopt);
  EXPECT_EQ(letters(path_ + "/f"), std::nullopt);
}

TEST_F(PlaceTest, OriginPathIsWrittenIfItFits) {
  ASSERT_TRUE(make("frame-{seq:06}.xtc"));
  const std::string wanted = path_ + "/frame-000042.xtc";
  std::string out(origin_path_room(*matcher_), '?');
  ASSERT_TRUE(origin_path(*matcher_, 42, out.data(), out.size()));
  EXPECT_STREQ(out.c_str(), wanted.c_str());
  EXPECT_TRUE(origin_path(*matcher_, 42, out.data(), wanted.size() + 1));
  EXPECT_FALSE(origin_path(*matcher_, 42, out.data(), wanted.size()));
}

}  // namespace
}  // namespace zazen
