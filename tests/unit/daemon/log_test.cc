#include "daemon/log.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

TEST(Log, PlainValuesStayPlain) {
  EXPECT_EQ(escape_log_value("/sim1/f7"), "/sim1/f7");
}

TEST(Log, PathCannotForgeALine) {
  EXPECT_EQ(escape_log_value("a b"), "\"a b\"");
  EXPECT_EQ(escape_log_value("x\nzazend level=error"), "\"x\\x0azazend level=error\"");
  EXPECT_EQ(escape_log_value("say \"hi\"\\"), "\"say \\\"hi\\\"\\\\\"");
  EXPECT_EQ(escape_log_value(""), "\"\"");
}

TEST(Log, NonAsciiIsKept) {
  EXPECT_EQ(escape_log_value("/størrelse"), "/størrelse");
}

}  // namespace
}  // namespace zazen
