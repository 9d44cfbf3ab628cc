#include "bodhi/config/filter_line.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zazen
