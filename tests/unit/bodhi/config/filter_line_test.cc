#include "bodhi/config/filter_line.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

TEST(FilterLine, IsFoundInTextThatIsNoToml) {
  for (const char* text : {"filter = \"require\"", "[[x\n\t filter='require' # always\n",
                           "=\r\nfilter =\"require\"\r\n"}) {
    EXPECT_TRUE(says_filter_require(text)) << text;
  }
}

TEST(FilterLine, OtherLinesRequireNothing) {
  for (const char* text :
       {"", "filter = true", "# filter = \"require\"", "filters = \"require\"",
        "filter = require", "x = \"filter = 'require'\"", "filter = \"req\nuire\"",
        "filter ="}) {
    EXPECT_FALSE(says_filter_require(text)) << text;
  }
}

TEST(FilterLine, FileThatNobodyCanReadRequiresNothing) {
  EXPECT_FALSE(file_says_filter_require("/nowhere/zazen.toml"));
}

TEST(FilterLine, IncludedFilesCount) {
  Scratch scratch;
  write_file(scratch / "z.toml", "nod = 1\ninclude = \"conf.d/*.toml\"\n");
  EXPECT_FALSE(file_says_filter_require(scratch / "z.toml"));
  std::filesystem::create_directory(scratch / "conf.d");
  write_file(scratch / "conf.d/a.toml", "filter = \"require\"\n");
  EXPECT_TRUE(file_says_filter_require(scratch / "z.toml"));
}

}  // namespace
}  // namespace zazen
