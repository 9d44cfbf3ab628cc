#include "bodhi/common/open_beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

class OpenBeneathTest : public testing::Test {
 protected:
  OpenBeneathTest() {
    std::filesystem::create_directories(scratch_ / "dataset/run1");
    std::filesystem::create_directories(scratch_ / "outside");
    write_file(scratch_ / "dataset/run1/f1", "frame");
    write_file(scratch_ / "outside/f1", "secret");
    directory_.reset(::open((scratch_ / "dataset").c_str(), O_PATH | O_CLOEXEC));
  }

  // 0 or an errno.
  int open(const char* path) {
    errno = 0;
    opened_ = open_beneath(directory_.get(), path, O_RDONLY);
    return opened_.valid() ? 0 : errno;
  }
  void link(const std::string& target, const char* name) {
    std::filesystem::create_symlink(target, (scratch_ / "dataset/") + name);
  }

  Scratch scratch_;
  UniqueFd directory_, opened_;
};

TEST_F(OpenBeneathTest, WhatIsThereIsOpened) {
  ASSERT_EQ(open("run1/f1"), 0);
  EXPECT_EQ(::fcntl(opened_.get(), F_GETFD), FD_CLOEXEC);
  char text[8] = {};
  EXPECT_EQ(::read(opened_.get(), text, sizeof text), 5);
  EXPECT_STREQ(text, "frame");
  EXPECT_EQ(open("run1/f2"), ENOENT);
}

TEST_F(OpenBeneathTest, NothingLeadsOut) {
  link(scratch_ / "outside", "absolute");
  link("../outside", "relative");
  link("run1", "inside");
  link("run1/f1", "file");
  EXPECT_EQ(open("absolute/f1"), ELOOP);
  EXPECT_EQ(open("relative/f1"), ELOOP);
  EXPECT_EQ(open("inside/f1"), ELOOP) << "it could be changed meanwhile";
  EXPECT_EQ(open("file"), ELOOP);
  EXPECT_EQ(open("../outside/f1"), EXDEV);
  EXPECT_EQ(open("run1/../../outside/f1"), EXDEV);
  EXPECT_EQ(open((scratch_ / "outside/f1").c_str()), EXDEV);
}

}  // namespace
}  // namespace zazen
