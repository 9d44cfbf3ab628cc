#include "bodhi/lean/system/runtime_line.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

std::string scan(const std::string& text, std::size_t capacity = kMaxPath) {
  char out[kMaxPath] = "untouched";
  std::size_t length = scan_runtime_line(text.data(), text.size(), out, capacity);
  if (length > 0) {
    EXPECT_EQ(out[length], '\0');
  }
  return std::string(out, length);
}

TEST(RuntimeLine, FindsTheLine) {
  EXPECT_EQ(scan("runtime = \"/run/zazen\""), "/run/zazen");
  EXPECT_EQ(scan("# zazen\nnode = \"n0\"\n\truntime=\"/r\"  # here\r\ncache = \"/c\"\n"), "/r");
  EXPECT_EQ(scan("runtime = \"/run/my zaz\xc3\xa9n # 1\"\r\n"), "/run/my zaz\xc3\xa9n # 1");
  EXPECT_EQ(scan("\xef\xbb\xbfruntime = \"/r\"\n"), "/r");
  EXPECT_EQ(scan("#runtime = \"/no\"\nruntime = \"/r\"\n"), "/r");
  EXPECT_EQ(scan("runtimes = \"/no\"\nruntime_x = \"/no\"\nxruntime = \"/no\"\n"
                 "runtime.a = \"/no\"\nruntime = \"/r\""),
            "/r");
  EXPECT_EQ(scan("peers = [\n  \"unix:/a\",\n]\nruntime = \"/r\"\n"), "/r");
  EXPECT_EQ(scan("runtime = \"/first\"\nruntime = \"/second\"\n"), "/first");
}

TEST(RuntimeLine, RefusesTheRest) {
  for (const char* text :
       {"", "\n", "runtime", "runtime =", "runtime = ", "runtime = \"", "runtime = \"/r",
        "runtime = '/r'", "runtime = /r", "runtime = \"/r\\n\"", "runtime = \"/r\tx\"",
        "runtime = \"/r\" x", "runtime = \"\"\"/r\"\"\"", "runtime = \"\"",
        "runtime = \"/r\nx\"", "[a]\nruntime = \"/r\"", "  [[dataset]]\nruntime = \"/r\"",
        "\"runtime\" = \"/r\"", "runtime = '/r'\nruntime = \"/second\""}) {
    EXPECT_EQ(scan(text), "") << text;
  }
}

TEST(RuntimeLine, NeedsRoomForTheNul) {
  EXPECT_EQ(scan("runtime = \"/run\"", 5), "/run");
  EXPECT_EQ(scan("runtime = \"/run\"", 4), "");
}

TEST(RuntimeLine, EveryPrefixIsSafe) {
  std::string text = "# x\n runtime = \"/run/zazen\" # y\r\n[t]\n";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    std::string found = scan(text.substr(0, length));
    EXPECT_TRUE(found.empty() || found == "/run/zazen");
  }
}

TEST(RuntimeLine, ReadsTheStartOfAFile) {
  Scratch scratch;
  char out[kMaxPath];
  std::string line = "runtime = \"/run/zazen\"\n";
  write_file(scratch / "near", std::string(60'000, '\n') + line);
  EXPECT_EQ(scan_runtime_file((scratch / "near").c_str(), out, sizeof out), 10u);
  EXPECT_STREQ(out, "/run/zazen");
  write_file(scratch / "far", std::string(kRuntimeScanBytes, '\n') + line);
  errno = EDOM;
  EXPECT_EQ(scan_runtime_file((scratch / "far").c_str(), out, sizeof out), 0u);
  write_file(scratch / "empty", "");
  EXPECT_EQ(scan_runtime_file((scratch / "empty").c_str(), out, sizeof out), 0u);
  EXPECT_EQ(scan_runtime_file((scratch / "none").c_str(), out, sizeof out), 0u);
  EXPECT_EQ(scan_runtime_file(scratch.path().c_str(), out, sizeof out), 0u);
  EXPECT_EQ(errno, EDOM);
}

}  // namespace
}  // namespace zazen
