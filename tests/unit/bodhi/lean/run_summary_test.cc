#include "bodhi/lean/run/run_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

namespace zazen {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string lines_of(const RunSummary& summary) {
  char text[1024];
  return {text, write_summary(summary, text, sizeof text)};
}

// Without the name in front of each line and the last newline.
std::string words(const RunSummary& summary) {
  std::istringstream lines(lines_of(summary));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_TRUE(line.starts_with("zazen: ")) << line;
    text += (text.empty() ? "" : "\n") + line.substr(std::min(line.size(), std::size_t{7}));
  }
  return text;
}

std::string others(const RunSummary& summary) {
  const std::string text = words(summary);
  const std::size_t at = text.find("\nother files: ");
  return at == std::string::npos ? "" : text.substr(at + 1);
}

RunSummary example() {
  RunSummary summary;
  summary.figures = {500, 500, 0, 7'200'000, 0};
  summary.duration_ns = 13 * kSecond / 10;
  return summary;
}

TEST(RunSummary, SaysFramesBytesTimeAndShare) {
  RunSummary summary = example();
  EXPECT_EQ(words(summary), "500 frames, 7.2 MB in 1.3 s, all from this node's disk");
  summary.figures = {1, 0, 1, 0, 1};
  EXPECT_EQ(words(summary), "1 frame, 1 byte in 1.3 s, all from the origin");
  summary.figures = {500, 1'499, 1, 7'000'000, 200'000};
  EXPECT_EQ(words(summary),
            "500 frames (1,500 opens), 7.2 MB in 1.3 s, 99% from this node's disk");
  summary.figures.is_whole = false;
  summary.ranks = 64;
  summary.nodes = 16;
  EXPECT_EQ(words(summary),
            "64 ranks on 16 nodes: at least 500 frames (1,500 opens), 7.2 MB in 1.3 s,\n"
            "99% from the nodes' disks");
}

TEST(RunSummary, ComparesWithTheLatestOfAnotherShare) {
  RunSummary summary = example();
  EarlierRun earlier[] = {{2 * kSecond, 499, 0, 499},
                          {15 * kSecond / 10, 500, 500, 500},
                          {168 * kSecond / 10, 500, 0, 500},
                          {20 * kSecond, 500, 0, 500}};
  summary.earlier = earlier;
  auto with = [&](std::size_t count) {
    summary.earlier_count = count;
    const std::string text = words(summary);
    const std::size_t at = text.find(';');
    return at == std::string::npos ? "" : text.substr(at + 2);
  };
  EXPECT_EQ(with(1), "") << "it opened other frames";
  EXPECT_EQ(with(2), "1.5 s before");
  EXPECT_EQ(with(4), "16.8 s when nothing was cached");
  EXPECT_EQ(words(summary),
            "500 frames, 7.2 MB in 1.3 s, all from this node's disk;\n"
            "16.8 s when nothing was cached");
  earlier[2].hits = 200;
  EXPECT_EQ(with(4), "16.8 s when 40% was cached");
  summary.figures = {500, 0, 500, 0, 7'200'000};
  summary.duration_ns = 20 * kSecond;
  EXPECT_EQ(with(4), "1.5 s when all was cached");
}

TEST(RunSummary, ComparesWhereThatTellsSomething) {
  RunSummary summary = example();
  auto tells = [&](std::int64_t now_ms, std::uint64_t hits, std::int64_t then_ms,
                   std::uint64_t hits_then) {
    const EarlierRun earlier{then_ms * 1'000'000, 500, hits_then, 500};
    summary.figures = {500, hits, 500 - hits, 7'200'000, 0};
    summary.duration_ns = now_ms * 1'000'000;
    summary.earlier = &earlier;
    summary.earlier_count = 1;
    return words(summary).find(';') != std::string::npos;
  };
  EXPECT_TRUE(tells(80, 500, 180, 0));
  EXPECT_FALSE(tells(80, 500, 50, 0)) << "the earlier run was faster";
  EXPECT_FALSE(tells(80, 500, 179, 0)) << "less than a tenth of a second";
  EXPECT_TRUE(tells(9'000, 500, 10'000, 0));
  EXPECT_FALSE(tells(9'001, 500, 10'000, 0)) << "less than a tenth";
  EXPECT_TRUE(tells(10'000, 0, 9'000, 500));
  EXPECT_FALSE(tells(9'000, 0, 10'000, 500)) << "the cache was no help";
  EXPECT_TRUE(tells(9'000, 500, 10'000, 500));
  EXPECT_FALSE(tells(10'000, 500, 9'000, 500)) << "both were cached";
}

TEST(RunSummary, SaysWhyNothingWasOpened) {
  RunSummary summary;
  summary.runtime = "/run/\x1b[2J";
  summary.duration_ns = 20'000'000;
  EXPECT_EQ(words(summary),
            "no daemon answers at /run/?[2J: all was read from the origin in 0.02 s");
  const std::string deep = "/run/" + std::string(200, 'd') + "/zazen";
  summary.runtime = deep.c_str();
  EXPECT_EQ(words(summary), "no daemon answers at /run/" + std::string(19, 'd') + "..." +
                                std::string(18, 'd') +
                                "/zazen:\nall was read from the origin in 0.02 s");
  summary.runtime = "/run/zazen";
  summary.has_other_daemon = true;
  EXPECT_EQ(words(summary),
            "zazend is of another version at /run/zazen:\n"
            "all was read from the origin in 0.02 s");
  summary.has_daemon = true;
  EXPECT_EQ(words(summary),
            "this node serves no dataset: all was read from the origin in 0.02 s");
  summary.datasets = 1;
  summary.dataset = "/sim1";
  EXPECT_EQ(words(summary),
            "no frame of /sim1 was opened in 0.02 s;\n"
            "zazenctl explain FILE tells whether FILE is one");
  summary.dataset = deep.c_str();
  for (std::int64_t seconds = 1; seconds < 3'600'000; seconds *= 3) {
    summary.duration_ns = seconds * kSecond;
    const std::string text = words(summary);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_TRUE(text.find("d/zazen was opened in ") != std::string::npos) << text;
  }
  summary.datasets = 3;
  EXPECT_EQ(words(summary).substr(0, 37), "no frame of 3 datasets was opened in ");
}

TEST(RunSummary, SaysThatATemplateMatchesNothing) {
  auto record = std::make_unique<RunRecord>();
  const std::uint32_t dataset = record->ledger.dataset_of(7, "/sim1");
  for (int i = 0; i < 500; ++i) {
    const std::string name = "frame-" + std::to_string(1'000'000 + i) + ".xtc";
    record->others.note(dataset, name.c_str(), OtherCall::kRead, 1'000);
    record->others.note(dataset, "top.pdb", OtherCall::kRead, 1'000);
    record->others.note(dataset, "top.pdb", OtherCall::kRead, 1'000);
  }
  RunSummary summary;
  summary.has_daemon = true;
  summary.datasets = 1;
  summary.dataset = "/sim1";
  summary.duration_ns = kSecond;
  add_others(*record, &summary);
  EXPECT_EQ(words(summary).substr(0, 27), "no frame of /sim1 was opene") << "nobody serves it";
  summary.numbered_frames = "f{seq}";
  EXPECT_EQ(words(summary),
            "0 of 500 opens of frame-*.xtc in /sim1 match f{seq}:\n"
            "all was read from the origin in 1.0 s;\n"
            "zazenctl doctor tells which template would match");
  const std::string deep = "/sim/" + std::string(500, 'd'), names(200, 'n');
  summary.numbered_dataset = deep.c_str();
  summary.numbered_frames = names.c_str();
  EXPECT_EQ(std::ranges::count(words(summary), '\n'), 4) << words(summary);
}

TEST(RunSummary, SaysWhereTheRestWent) {
  auto record = std::make_unique<RunRecord>();
  const std::uint32_t dataset = record->ledger.dataset_of(7, "/sim1");
  for (int i = 0; i < 100; ++i) {
    record->others.note(dataset, ".f1.lock", OtherCall::kWrite, 1'500'000);
    record->others.note(dataset, "", OtherCall::kStat, 500'000);
  }
  RunSummary summary = example();
  add_others(*record, &summary);
  EXPECT_TRUE(
      words(summary).starts_with("500 frames, 7.2 MB in 1.3 s, all from this node's disk\n"));
  EXPECT_EQ(others(summary), "other files: 100 opens, 100 stats, 0.20 s, most for .f*.lock");
  summary.duration_ns = 3 * kSecond;
  EXPECT_EQ(others(summary), "") << "a small part";
}

TEST(RunSummary, OtherFilesFitInALine) {
  RunSummary summary = example();
  summary.other_ns = 12 * kSecond;
  const std::string name =
      ".run-*_\u00e9quilibration_of_a_long_name_with_\u00fc.f*.xtc_offsets.npz";
  summary.slowest_other = name.c_str();
  for (std::uint64_t calls = 1; calls < 10'000'000'000'000; calls *= 10) {
    summary.other_opens = summary.other_stats = calls;
    const std::string line = others(summary);
    EXPECT_LE(line.size(), 73u) << line;
    if (calls > 1'000'000) continue;
    const std::size_t at = line.find(", most for "), cut = line.find("...");
    ASSERT_TRUE(at != std::string::npos && cut != std::string::npos) << line;
    const std::string head = line.substr(at + 11, cut - at - 11), tail = line.substr(cut + 3);
    EXPECT_TRUE(name.starts_with(head) && name.ends_with(tail)) << line;
    EXPECT_GE(tail.size(), 3u) << line;
  }
  // No letter is cut in two.
  std::string accents;
  for (int i = 0; i < 80; ++i) {
    accents += i % 7 == 0 ? "x" : "\u00e9";
    summary.other_opens = summary.other_stats = 1;
    summary.slowest_other = accents.c_str();
    const std::string line = others(summary);
    EXPECT_LE(line.size(), 73u) << line;
    EXPECT_EQ(std::ranges::count(line, '\xc3'), std::ranges::count(line, '\xa9')) << line;
  }
}

TEST(RunSummary, Durations) {
  auto text = [](std::int64_t ms) {
    char out[32];
    return std::string(out, write_duration(ms * 1'000'000, out, sizeof out));
  };
  EXPECT_EQ(text(-5), "0.00 s");
  EXPECT_EQ(text(994), "0.99 s");
  EXPECT_EQ(text(995), "1.0 s");
  EXPECT_EQ(text(16'849), "16.8 s");
  EXPECT_EQ(text(99'949), "99.9 s");
  EXPECT_EQ(text(99'950), "1m40s");
  EXPECT_EQ(text(252'000), "4m12s");
  EXPECT_EQ(text(7'500'000), "2h05m");
}

TEST(RunSummary, FitsInAnyRoom) {
  char text[16];
  for (std::size_t room = 1; room <= sizeof text; ++room) {
    EXPECT_EQ(write_summary(example(), text, room), room - 1);
    EXPECT_EQ(text[room - 1], '\0');
  }
}

TEST(RunPlace, SurvivesItsText) {
  RunPlace place, read;
  place.number = ~0ULL;
  place.started_ns = 1'794'990'891'000'000'000;
  place.pid = 4711;
  place.voice = RunVoice::kStartsRanks;
  std::snprintf(place.directory, sizeof place.directory, "/run/with a blank/jobs/x");
  char value[kMaxRunValue];
  write_run_place(place, value);
  ASSERT_TRUE(read_run_place(value, &read));
  EXPECT_EQ(read.number, place.number);
  EXPECT_EQ(read.started_ns, place.started_ns);
  EXPECT_EQ(read.pid, place.pid);
  EXPECT_EQ(read.voice, place.voice);
  EXPECT_STREQ(read.directory, place.directory);
  const std::string too_long = "1 2 3 1 " + std::string(kMaxPath, 'x');
  for (const char* wrong :
       {"", "1", "1 2 3 1", "0 2 3 1 ", "1 2 3 3 /x", "1 2 99999999999 1 /x", "x 2 3 1 /x",
        "1 -2 3 1 /x", too_long.c_str()}) {
    EXPECT_FALSE(read_run_place(wrong, &read)) << wrong;
  }
  EXPECT_TRUE(read_run_place("1 2 3 1 ", &read));
}

}  // namespace
}  // namespace zazen
