#include "bodhi/lean/frames/frame_name.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>

namespace zazen {
namespace {

static_assert(std::is_trivially_copyable_v<FrameName>);

constexpr FrameSeq kLargest = UINT64_MAX;

FrameName compiled(std::string_view text) {
  FrameName name;
  const char* why = "";
  EXPECT_TRUE(FrameName::parse(text.data(), text.size(), &name, &why)) << text << ": " << why;
  return name;
}

std::optional<FrameSeq> match(const FrameName& name, std::string_view text) {
  FrameSeq seq;
  if (!name.match(text.data(), text.size(), &seq)) return std::nullopt;
  return seq;
}

std::optional<FrameSeq> match_entry(const FrameName& name, std::string_view text) {
  FrameSeq seq;
  if (!name.match_entry(text.data(), text.size(), &seq)) return std::nullopt;
  return seq;
}

std::string format(const FrameName& name, FrameSeq seq) {
  char out[512];
  return std::string(out, name.format(seq, out, sizeof out));
}

std::string format_entry(const FrameName& name, FrameSeq seq) {
  char out[512];
  return std::string(out, name.format_entry(seq, out, sizeof out));
}

bool last(const FrameName& name, std::string_view text) {
  return name.match_last_component(text.data(), text.size());
}

TEST(FrameName, PlainNumbers) {
  FrameName name = compiled("f{seq}");
  EXPECT_EQ(match(name, "f0"), 0u);
  EXPECT_EQ(match(name, "f1"), 1u);
  EXPECT_EQ(match(name, "f4294967297"), 4294967297u);
  EXPECT_EQ(match(name, "f18446744073709551615"), kLargest);
  for (const char* other : {"f", "f01", "f00", "g1", "f1x", "f-1", "f+1", "f 1", "F1", "", "1",
                            "f18446744073709551616", "f99999999999999999999",
                            "f118446744073709551615", "f1/2", "f\xc2\xb2"}) {
    EXPECT_EQ(match(name, other), std::nullopt) << other;
  }
  EXPECT_EQ(match(name, std::string_view("f1\0", 3)), std::nullopt);
  EXPECT_EQ(format(name, 0), "f0");
  EXPECT_EQ(format(name, kLargest), "f18446744073709551615");
}

TEST(FrameName, PaddedNumbersHaveOneSpelling) {
  FrameName name = compiled("frame-{seq:06}.xtc");
  EXPECT_EQ(match(name, "frame-000000.xtc"), 0u);
  EXPECT_EQ(match(name, "frame-000042.xtc"), 42u);
  EXPECT_EQ(match(name, "frame-999999.xtc"), 999999u);
  EXPECT_EQ(match(name, "frame-1000000.xtc"), 1000000u);
  for (const char* other :
       {"frame-42.xtc", "frame-00042.xtc", "frame-0000042.xtc", "frame-0999999.xtc",
        "frame-.xtc", "frame-000042.xt", "frame-000042.xtcc", "frame000042.xtc"}) {
    EXPECT_EQ(match(name, other), std::nullopt) << other;
  }
  EXPECT_EQ(format(name, 42), "frame-000042.xtc");
  EXPECT_EQ(format(name, 1234567), "frame-1234567.xtc");
}

TEST(FrameName, WidestPadding) {
  FrameName name = compiled("{seq:020}");
  EXPECT_EQ(format(name, 7), "00000000000000000007");
  EXPECT_EQ(match(name, "18446744073709551615"), kLargest);
  EXPECT_EQ(match(name, "18446744073709551616"), std::nullopt);
  EXPECT_EQ(match(name, "000000000000000000007"), std::nullopt);
}

TEST(FrameName, DigitsAroundTheNumber) {
  FrameName name = compiled("run1{seq}0");
  EXPECT_EQ(format(name, 5), "run150");
  EXPECT_EQ(match(name, "run150"), 5u);
  EXPECT_EQ(match(name, "run1000"), std::nullopt);  // 00
  EXPECT_EQ(match(name, "run100"), 0u);
  EXPECT_EQ(match(name, "run10"), std::nullopt);
}

TEST(FrameName, PrefixAndSuffixDoNotOverlap) {
  FrameName name = compiled("aba{seq}aba");
  EXPECT_EQ(match(name, "abaaba"), std::nullopt);
  EXPECT_EQ(match(name, "aba"), std::nullopt);
  EXPECT_EQ(match(name, "aba1aba"), 1u);
}

TEST(FrameName, DirectoriesBeforeTheNumber) {
  FrameName name = compiled("run 1/\xc3\xbc/f{seq:03}.dcd");
  EXPECT_EQ(std::string(name.directory(), name.directory_length()), "run 1/\xc3\xbc");
  EXPECT_FALSE(name.entry_is_directory());
  EXPECT_EQ(match(name, "run 1/\xc3\xbc/f007.dcd"), 7u);
  EXPECT_EQ(match(name, "f007.dcd"), std::nullopt);
  EXPECT_EQ(match_entry(name, "f007.dcd"), 7u);
  EXPECT_EQ(match_entry(name, "f7.dcd"), std::nullopt);
  EXPECT_EQ(format_entry(name, 7), "f007.dcd");
  EXPECT_EQ(format(name, 7), "run 1/\xc3\xbc/f007.dcd");
  EXPECT_TRUE(last(name, "f007.dcd"));
  EXPECT_FALSE(last(name, "f7.dcd"));
}

TEST(FrameName, NumberInADirectory) {
  FrameName name = compiled("run1/s{seq}.d/a/traj.dcd");
  EXPECT_EQ(std::string(name.directory(), name.directory_length()), "run1");
  EXPECT_TRUE(name.entry_is_directory());
  EXPECT_EQ(match(name, "run1/s12.d/a/traj.dcd"), 12u);
  EXPECT_EQ(match(name, "run1/s12.d/a/traj"), std::nullopt);
  EXPECT_EQ(match_entry(name, "s12.d"), 12u);
  EXPECT_EQ(match_entry(name, "s12"), std::nullopt);
  EXPECT_EQ(format_entry(name, 12), "s12.d");
  EXPECT_TRUE(last(name, "traj.dcd"));
  EXPECT_FALSE(last(name, "s12.d"));
  EXPECT_FALSE(last(name, "traj.dc"));
  EXPECT_FALSE(last(name, "xtraj.dcd"));
}

TEST(FrameName, FrameDirectoryIsTheDatasetItself) {
  FrameName name = compiled("{seq}/traj.dcd");
  EXPECT_EQ(name.directory_length(), 0u);
  EXPECT_EQ(match(name, "3/traj.dcd"), 3u);
}

TEST(FrameName, TailOfAnyPath) {
  auto tail = [](const char* text, std::string_view path) -> std::string {
    std::size_t parent = 0;
    FrameSeq seq = 0;
    if (!compiled(text).match_tail(path.data(), path.size(), &parent, &seq)) return "no";
    return std::string(path.substr(0, parent)) + "|" + std::to_string(seq);
  };
  EXPECT_EQ(tail("f{seq}", "f7"), "|7");
  EXPECT_EQ(tail("f{seq}", "../x//f7"), "../x//|7");
  EXPECT_EQ(tail("f{seq}", "/f7"), "/|7");
  EXPECT_EQ(tail("run1/f{seq}", "any/f7"), "any/|7");
  EXPECT_EQ(tail("run1/{seq}/traj.dcd", "/a/7/traj.dcd"), "/a/|7");
  EXPECT_EQ(tail("{seq}/traj.dcd", "7/traj.dcd"), "|7");
  for (const char* path : {"", "/", "f07", "f7/", "a/g7", "f7/x"}) {
    EXPECT_EQ(tail("f{seq}", path), "no") << path;
  }
  EXPECT_EQ(tail("{seq}/traj.dcd", "traj.dcd"), "no");
  EXPECT_EQ(tail("{seq}/traj.dcd", "7//traj.dcd"), "no");
}

TEST(FrameName, OtherBracesAreLiteral) {
  FrameName name = compiled("{x}{seq}{seq");
  EXPECT_EQ(format(name, 9), "{x}9{seq");
  EXPECT_EQ(match(name, "{x}9{seq"), 9u);
}

TEST(FrameName, FormatNeedsRoomForTheNul) {
  FrameName name = compiled("f{seq}");
  char out[8];
  std::memset(out, 'x', sizeof out);
  EXPECT_EQ(name.format(123, out, 5), 4u);
  EXPECT_STREQ(out, "f123");
  std::memset(out, 'x', sizeof out);
  EXPECT_EQ(name.format(123, out, 4), 0u);
  EXPECT_EQ(out[4], 'x');
  EXPECT_EQ(name.format_entry(123, out, 0), 0u);
}

TEST(FrameName, RandomNumbersComeBack) {
  std::mt19937_64 random(1);
  for (const char* text : {"f{seq}", "{seq:01}", "a/{seq:09}.x", "{seq}/t", "0{seq:020}0"}) {
    FrameName name = compiled(text);
    for (int i = 0; i < 2000; ++i) {
      FrameSeq seq = random() >> (random() % 64);
      EXPECT_EQ(match(name, format(name, seq)), seq) << text;
      EXPECT_EQ(match_entry(name, format_entry(name, seq)), seq) << text;
    }
  }
}

TEST(FrameName, RefusesWhatIsNoTemplate) {
  struct {
    std::string text;
    const char* phrase;
  } cases[] = {
      {"", "empty"},
      {"f", "no {seq}"},
      {"f{frame}", "no {seq}"},
      {"f{seq", "no {seq}"},
      {"f{SEQ}", "no {seq}"},
      {"f{seq}-{seq}", "more than one"},
      {"f{seq:03}-{seq}", "more than one"},
      {"f{seq:}", "width"},
      {"f{seq:6}", "width"},
      {"f{seq:0}", "width"},
      {"f{seq:00}", "width"},
      {"f{seq:006}", "width"},
      {"f{seq:021}", "width"},
      {"f{seq:0100}", "width"},
      {"f{seq:06", "width"},
      {"f{seq:0x}", "width"},
      {"f{seq:06x}", "width"},
      {"f{seq:", "width"},
      {"/f{seq}", "begins with '/'"},
      {"f{seq}/", "ends with '/'"},
      {"a//f{seq}", "empty component"},
      {"./f{seq}", "'.'"},
      {"../f{seq}", "'..'"},
      {"a/../f{seq}", "'..'"},
      {"f{seq}/.", "'.'"},
      {".zazen/f{seq}", ".zazen"},
      {std::string("f\0{seq}", 7), "NUL"},
      {std::string(251, 'x') + "{seq}", "longer"},
  };
  for (const auto& [text, phrase] : cases) {
    FrameName name;
    const char* why = "";
    EXPECT_FALSE(FrameName::parse(text.data(), text.size(), &name, &why)) << text;
    EXPECT_NE(std::string(why).find(phrase), std::string::npos) << text << ": " << why;
  }
}

TEST(FrameName, TypesOfEntries) {
  FrameName file = compiled("f{seq}");
  FrameName directory = compiled("run1/{seq}/traj.dcd");
  for (std::uint8_t type : {DT_UNKNOWN, DT_LNK}) {
    EXPECT_TRUE(file.type_fits(type));
    EXPECT_TRUE(directory.type_fits(type));
  }
  EXPECT_TRUE(file.type_fits(DT_REG));
  EXPECT_FALSE(file.type_fits(DT_DIR));
  EXPECT_FALSE(directory.type_fits(DT_REG));
  EXPECT_TRUE(directory.type_fits(DT_DIR));
  EXPECT_FALSE(file.type_fits(DT_FIFO));
}

TEST(FrameName, LongestTemplate) {
  FrameName name = compiled(std::string(250, 'x') + "{seq}");
  EXPECT_EQ(match(name, format(name, kLargest)), kLargest);
}

}  // namespace
}  // namespace zazen
