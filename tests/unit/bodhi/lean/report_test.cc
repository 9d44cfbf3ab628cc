#include "bodhi/lean/run/report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

using nlohmann::json;

JobReport example(const std::vector<RankReport>& ranks) {
  JobReport report = {};
  report.duration_seconds = 12.5;
  report.filtered = true;
  report.complete = true;
  report.frames_listed = 1000;
  report.frames_read = 999;
  report.frames_read_twice = 2;
  report.frames_never_read = 1;
  report.frames_arrived_later = 5;
  report.hits = UINT64_MAX;
  report.misses = 10;
  report.bytes_local = 11;
  report.bytes_origin = 12;
  report.protocol_seconds = 0.0215;
  report.listing_seconds = 0.5;
  static constexpr PhaseReport kPhases[] = {{"listings", 0.25}, {"view", 0.125}};
  report.phases = kPhases;
  report.phase_count = std::size(kPhases);
  report.nodes = 4;
  report.ranks = 8;
  report.rank_reports = ranks.data();
  report.rank_count = ranks.size();
  return report;
}

json parsed(const std::string& path) {
  json document = json::parse(read_file(path), nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << read_file(path);
  return document;
}

TEST(Report, HasTheContractsKeys) {
  Scratch scratch;
  std::vector<RankReport> ranks = {{0, "n0", 125, 124, 120, 4, true},
                                   {-1, "", 0, 0, 0, 0, false}};
  ASSERT_EQ(write_report((scratch / "report").c_str(), example(ranks)), 0);
  json expected = {{"schema_version", 1},
                   {"filtered", true},
                   {"complete", true},
                   {"reason", nullptr},
                   {"frames_listed", 1000},
                   {"frames_read", 999},
                   {"frames_read_twice", 2},
                   {"frames_never_read", 1},
                   {"frames_arrived_later", 5},
                   {"exactly_once", false},
                   {"hits", UINT64_MAX},
                   {"misses", 10},
                   {"bytes_local", 11},
                   {"bytes_origin", 12},
                   {"duration_seconds", 12.5},
                   {"protocol_seconds", 0.0215},
                   {"listing_seconds", 0.5},
                   {"phases", {{"listings", 0.25}, {"view", 0.125}}},
                   {"nodes", 4},
                   {"ranks", 8}};
  expected["per_rank"] = {{{"rank", 0},
                           {"node", "n0"},
                           {"assigned", 125},
                           {"read", 124},
                           {"hits", 120},
                           {"misses", 4},
                           {"reported", true}},
                          {{"rank", -1},
                           {"node", ""},
                           {"assigned", 0},
                           {"read", 0},
                           {"hits", 0},
                           {"misses", 0},
                           {"reported", false}}};
  EXPECT_EQ(parsed(scratch / "report"), expected);
  EXPECT_EQ(entries_in(scratch.path()), 1u);
}

TEST(Report, TextIsEscaped) {
  Scratch scratch;
  std::vector<RankReport> ranks(3);
  std::strcpy(ranks[0].node, "a\"b\\c\n\t\x01\x7f/");
  std::strcpy(ranks[1].node, "\xc3\xa4\xe6\xbc\xa2\xf0\x9f\x98\x80");
  std::memset(ranks[2].node, 'x', sizeof ranks[2].node);  // no NUL
  JobReport report = example(ranks);
  report.reason =
      "a\xff"
      "b\xc0\x80"
      "c\xed\xa0\x80"
      "d\xe6\xbc";
  ASSERT_EQ(write_report((scratch / "report").c_str(), report), 0);
  json document = parsed(scratch / "report");
  EXPECT_EQ(document["per_rank"][0]["node"], ranks[0].node);
  EXPECT_EQ(document["per_rank"][1]["node"], ranks[1].node);
  EXPECT_EQ(document["per_rank"][2]["node"], std::string(kMaxNodeName, 'x'));
  std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(document["reason"], "a" + r + "b" + r + r + "c" + r + r + r + "d" + r + r);
}

TEST(Report, SecondsAreAlwaysANumber) {
  Scratch scratch;
  std::pair<double, double> cases[] = {{0, 0},           {1.5, 1.5}, {0.000001, 0.000001},
                                       {59.9999999, 60}, {-1, 0},    {NAN, 0},
                                       {INFINITY, 0}};
  for (auto [given, expected] : cases) {
    JobReport report = example({});
    report.protocol_seconds = given;
    ASSERT_EQ(write_report((scratch / "report").c_str(), report), 0);
    EXPECT_DOUBLE_EQ(parsed(scratch / "report")["protocol_seconds"].get<double>(), expected);
  }
}

TEST(Report, ManyRanksOutgrowTheBuffer) {
  Scratch scratch;
  std::vector<RankReport> ranks(5000);
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = static_cast<std::int32_t>(i);
  ASSERT_EQ(write_report((scratch / "report").c_str(), example(ranks)), 0);
  json document = parsed(scratch / "report");
  ASSERT_EQ(document["per_rank"].size(), 5000u);
  EXPECT_EQ(document["per_rank"][4999]["rank"], 4999);
}

TEST(Report, ReplacesAFileAndHonoursTheUmask) {
  Scratch scratch;
  std::string path = scratch / "r\xc3\xa9port 1.json";
  write_file(path, "old");
  mode_t old = ::umask(027);
  EXPECT_EQ(write_report(path.c_str(), example({})), 0);
  ::umask(old);
  struct stat st;
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0640u);
  EXPECT_TRUE(parsed(path)["per_rank"].empty());
}

TEST(Report, PipesAndLinksAreWrittenToNotReplaced) {
  Scratch scratch;
  std::string pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_EQ(write_report(pipe.c_str(), example({})), 0);
  char bytes[8192];
  ssize_t size = ::read(reader.get(), bytes, sizeof bytes);
  ASSERT_GT(size, 0);
  EXPECT_TRUE(json::accept(std::string(bytes, static_cast<std::size_t>(size))));

  write_file(scratch / "target", "old content, longer than nothing");
  std::filesystem::create_symlink("target", scratch / "link");
  ASSERT_EQ(write_report((scratch / "link").c_str(), example({})), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(parsed(scratch / "target")["ranks"], 8);
}

TEST(Report, ErrorsAreReturnedAndLeaveNothing) {
  Scratch scratch;
  EXPECT_EQ(write_report((scratch / "none/report").c_str(), example({})), ENOENT);
  EXPECT_EQ(write_report(scratch.path().c_str(), example({})), EISDIR);
  // Through a link of our own: a write_report() that replaced it would harm only that.
  std::filesystem::create_symlink("/dev/full", scratch / "full");
  errno = EDOM;
  EXPECT_EQ(write_report((scratch / "full").c_str(), example({})), ENOSPC);
  EXPECT_EQ(errno, EDOM);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "full"));
  EXPECT_EQ(write_report((scratch / std::string(5000, 'x')).c_str(), example({})),
            ENAMETOOLONG);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(entries_in(scratch.path()), 1u);
}

}  // namespace
}  // namespace zazen
