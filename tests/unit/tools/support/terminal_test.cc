// Text that is cut, shortened and wrapped to the columns of a terminal.
#include "tools/support/terminal.h"

#include <gtest/gtest.h>

#include "tools/support/output.h"

namespace zazen {
namespace {

TEST(TerminalTest, LinesAreCutByColumnsNotByBytes) {
  EXPECT_EQ(cut_line("abc", 3), "abc");
  EXPECT_EQ(cut_line("abcd", 3), "abc");
  EXPECT_EQ(cut_line("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xc3\xb6");
  EXPECT_EQ(cut_line("\033[32mabcd\033[0m", 2), "\033[32mab\033[0m");
}

TEST(TerminalTest, PathsLoseTheirMiddle) {
  EXPECT_EQ(shortened("/proj/run7", 10), "/proj/run7");
  EXPECT_EQ(shortened("/proj/group/run7", 11), "/p...p/run7");
  EXPECT_EQ(shortened("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 5),
            "...\xc3\xb6\xc3\xbc");
  EXPECT_EQ(shortened("abcdef", 4), "abcd");
  EXPECT_EQ(shortened("abcdef", 0), "");
}

TEST(TerminalTest, LinesBreakBetweenWordsBelowTheTextAfterALabel) {
  EXPECT_EQ(wrapped("one two three", 80), "one two three");
  EXPECT_EQ(wrapped("one two three", kNoLimit), "one two three");
  EXPECT_EQ(wrapped("one two three", 8), "one two\n  three");
  EXPECT_EQ(wrapped("copy      one two three", 21), "copy      one two\n          three");
  EXPECT_EQ(wrapped("      hint: one two", 15), "      hint: one\n      two");
  EXPECT_EQ(wrapped("see /a/long/path/that/is/one/word at once", 12),
            "see\n  /a/long/path/that/is/one/word\n  at once");
  EXPECT_EQ(wrapped("", 10), "");
}

TEST(TerminalTest, TablesFitByTheirLongestTexts) {
  TextTable table({"DATASET", ">FRAMES", "NODE"});
  table.add({"/projects/group/run7/frames", "1,234", "n0"});
  EXPECT_EQ(table.lines(kNoLimit).back(), "/projects/group/run7/frames   1,234  n0");
  EXPECT_EQ(table.lines(30).back(), "/pro...n7/frames   1,234  n0");
  EXPECT_EQ(width_of(table.lines(2).back()), 12 + 2 + 6 + 2 + 2u) << "no column is useless";
}

}  // namespace
}  // namespace zazen
