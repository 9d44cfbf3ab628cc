// The messages about a directory whose files do not follow the template.
#include "bodhi/config/template_check.h"

#include <fmt/format.h>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

class TemplateCheckTest : public ::testing::Test {
 protected:
  void make(const std::string& name) {
    const std::string path = scratch_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, "x");
  }
  DatasetConfig dataset(const std::string& frames) {
    DatasetConfig made;
    made.path = scratch_.path();
    made.frames = frames;
    const char* why = "";
    EXPECT_TRUE(FrameName::parse(frames.data(), frames.size(), &made.name, &why)) << why;
    return made;
  }
  std::string mismatch(const std::string& frames) { return describe_mismatch(dataset(frames)); }

  Scratch scratch_;
};

TEST_F(TemplateCheckTest, TemplateThatMatchesNothing) {
  for (int i = 0; i < 500; ++i) make(fmt::format("frame-{:06}.xtc", i));
  EXPECT_EQ(mismatch("frame-{seq}.xtc"),
            "0 of 500 names match frame-{seq}.xtc; frame-{seq:06}.xtc would match all");
  EXPECT_EQ(mismatch("frame-{seq:06}.xtc"), "");
  make("topol.tpr");
  make(".frame-000001.xtc_offsets.npz");  // hidden: it is none of the names
  make("restart/deeper.xtc");
  EXPECT_EQ(mismatch("run1/{seq}/x.xtc"),
            "0 of 501 names match run1/{seq}/x.xtc; frame-{seq:06}.xtc would match 500");
}

TEST_F(TemplateCheckTest, OneFrameIsEnough) {
  make("topol.tpr");
  EXPECT_EQ(mismatch("f{seq}"), "0 of 1 names match f{seq}");
  make("f7");
  EXPECT_EQ(mismatch("f{seq}"), "");
}

TEST_F(TemplateCheckTest, NothingIsSaidOfWhatIsNotThere) {
  EXPECT_EQ(mismatch("f{seq}"), "") << "frames may still come";
  std::filesystem::create_directories(scratch_ / "run1/7");
  EXPECT_EQ(mismatch("f{seq}"), "");
  DatasetConfig away = dataset("f{seq}");
  away.path += "/away";
  EXPECT_EQ(describe_mismatch(away), "");
}

TEST_F(TemplateCheckTest, FramesInDirectories) {
  for (int i = 0; i < 20; ++i) make(fmt::format("run1/{:04}/traj.dcd", i));
  make("notes");
  EXPECT_EQ(mismatch("run1/{seq:04}/traj.dcd"), "");
  EXPECT_EQ(mismatch("run1/{seq}/traj.dcd"),
            "0 of 21 names match run1/{seq}/traj.dcd; run1/{seq:04}/traj.dcd would match 20");
  // The directories match, and none has such a file.
  EXPECT_EQ(
      mismatch("run1/{seq:04}/traj.xtc"),
      "0 of 21 names match run1/{seq:04}/traj.xtc; run1/{seq:04}/traj.dcd would match 20");
}

TEST_F(TemplateCheckTest, LargeDirectoryIsSampled) {
  for (std::size_t i = 0; i < DirectoryNames::kMost + 10; ++i) make(fmt::format("f{:05}", i));
  EXPECT_EQ(mismatch("f{seq}.xtc"),
            "0 of the first 4,096 names match f{seq}.xtc; f{seq:05} would match all");
  Result<DirectoryNames> found = examine_directory(scratch_.path());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->is_whole);
  EXPECT_EQ(found->names.size(), DirectoryNames::kMost);
  // A frame beyond the sample is found all the same.
  make("only.7");
  EXPECT_EQ(mismatch("only.{seq}"), "");
}

}  // namespace
}  // namespace zazen
