#include "bodhi/lean/frames/companion_patterns.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "bodhi/lean/frames/frame_name.h"

namespace zazen {
namespace {

FrameName names(const std::string& frames, const std::string& also) {
  FrameName name;
  const char* why = "";
  EXPECT_TRUE(FrameName::parse(frames.data(), frames.size(), &name, &why)) << why;
  EXPECT_TRUE(name.add_also(also.data(), also.size(), &why)) << also << ": " << why;
  return name;
}

// The number of a companion; 0 if the name is none.
FrameSeq number(const FrameName& names, const std::string& name) {
  FrameSeq seq = 0;
  return names.match(name.data(), name.size(), &seq) && names.is_companion(seq) ? seq : 0;
}

std::string spelt(const FrameName& names, FrameSeq seq) {
  char text[kMaxTemplate + 32];
  return {text, names.format(seq, text, sizeof text)};
}

void expect_companion(const FrameName& names, const std::string& name) {
  const FrameSeq seq = number(names, name);
  ASSERT_GE(seq, kFirstCompanion) << name;
  EXPECT_EQ(spelt(names, seq), name);
  EXPECT_LE(name.size(), names.most_length());
  FrameSeq frame = 0;
  const std::size_t slash = name.rfind('/');
  const std::string entry = slash == name.npos ? name : name.substr(slash + 1);
  EXPECT_FALSE(names.match_entry(entry.data(), entry.size(), &frame))
      << "a listing shows it to all";
  EXPECT_TRUE(names.match_held_entry(entry.data(), entry.size(), &frame));
  EXPECT_EQ(frame, seq);
  EXPECT_TRUE(names.match_last_component(entry.data(), entry.size()));
  std::size_t parent = 0;
  const std::string path = "/elsewhere/" + entry;
  EXPECT_TRUE(names.match_tail(path.data(), path.size(), &parent, &frame));
  EXPECT_EQ(parent, std::string("/elsewhere/").size());
  EXPECT_EQ(frame, seq);
}

TEST(CompanionPatterns, ANumberSpellsItsName) {
  const FrameName all =
      names("frame-{seq:06}.xtc", "*.pdb/.*_offsets.npz/a very long name.gro");
  for (const char* name :
       {"top.pdb", ".pdb", "protein_10.pdb", "A-z.0_9.pdb", "a very long name.gro",
        ".frame-000123.xtc_offsets.npz", ".frame-1234567.xtc_offsets.npz", ".x.xtc_offsets.npz",
        "._offsets.npz"}) {
    expect_companion(all, name);
  }
  for (const char* name : {"top.PDB", "eleven_char.pdb", "a b.pdb", "a/b.pdb",
                           "a very long name.gr", "top.gro", ".frame-0000123.xtc_offsets.npz",
                           "x_offsets.npz", "frame-000001.xtc", "", "\xc3\xa9.pdb"}) {
    EXPECT_EQ(number(all, name), 0u) << name;
  }
  EXPECT_EQ(number(all, std::string("a\0b.pdb", 7)), 0u);
}

TEST(CompanionPatterns, FramesComeFirst) {
  const FrameName all = names("f{seq}", "f*7/*.pdb/x*.pdb");
  FrameSeq seq = 0;
  ASSERT_TRUE(all.match("f17", 3, &seq));
  EXPECT_EQ(seq, 17u);
  EXPECT_EQ(number(all, "f9223372036854775807"), 0u) << "a number of a frame";
  EXPECT_EQ(number(all, "f9999999999999999997"), 0u);
  EXPECT_FALSE(all.match("f9999999999999999997", 20, &seq)) << "its number is a companion's";
  EXPECT_FALSE(all.match_entry("f9999999999999999997", 20, &seq));
  expect_companion(all, "f07");
  // Two patterns fit, and the first one counts: no other number spells the name.
  const FrameName second = names("f{seq}", "x*.pdb");
  const FrameSeq as_first = number(second, "xy.pdb");
  EXPECT_EQ(spelt(second, as_first), "xy.pdb");
  const FrameSeq in_third = as_first + 2 * (kFirstCompanion / CompanionPatterns::kMost);
  EXPECT_EQ(spelt(all, in_third), "");
  EXPECT_EQ(spelt(all, number(all, "xy.pdb")), "xy.pdb");
}

TEST(CompanionPatterns, NumbersThatSpellNothingAreRefused) {
  const FrameName all = names("f{seq}", "*.pdb/.*_offsets.npz/top.gro");
  std::mt19937_64 random(7);
  int spelled = 0;
  for (int i = 0; i < 200'000; ++i) {
    const FrameSeq seq = kFirstCompanion + random() % kFirstCompanion;
    const std::string name = spelt(all, seq);
    if (name.empty()) continue;
    ++spelled;
    EXPECT_EQ(number(all, name), seq) << name;
    EXPECT_EQ(name.find('/'), name.npos);
    EXPECT_EQ(name.find('\0'), name.npos);
  }
  EXPECT_GT(spelled, 1'000);
  char little[4];
  EXPECT_EQ(all.format(number(all, "top.pdb"), little, sizeof little), 0u);
}

TEST(CompanionPatterns, LieInTheFrameDirectory) {
  const FrameName below = names("run1/f{seq}.xtc", "*.pdb/.*_offsets.npz");
  expect_companion(below, "run1/top.pdb");
  expect_companion(below, "run1/.f12.xtc_offsets.npz");
  EXPECT_EQ(number(below, "top.pdb"), 0u);
  EXPECT_EQ(number(below, "run2/top.pdb"), 0u);
  const FrameName above = names("{seq}/traj.dcd", "*.psf");
  expect_companion(above, "top.psf");
  EXPECT_EQ(number(above, "7/top.psf"), 0u);
  FrameSeq seq = 0;
  std::size_t parent = 0;
  ASSERT_TRUE(above.match_tail("/x/12/traj.dcd", 14, &parent, &seq));
  EXPECT_EQ(seq, 12u);
}

TEST(CompanionPatterns, TheCachesOwnDirectoryIsNone) {
  const FrameName all = names("f{seq}", ".z*n/*n");
  EXPECT_EQ(number(all, ".zazen"), 0u);
  expect_companion(all, ".zan");
}

TEST(CompanionPatterns, RefusesWhatMakesNoSense) {
  for (const std::string& wrong :
       {std::string("*"), std::string("x*"), std::string("*.a*b"), std::string("a//b"),
        std::string("/a"), std::string("a/"), std::string("."), std::string(".."),
        std::string(".zazen"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("a/b/c/d/e/f"), std::string(kMaxAlso, 'x')}) {
    FrameName name;
    const char* why = nullptr;
    ASSERT_TRUE(FrameName::parse("f{seq}", 6, &name, &why));
    EXPECT_FALSE(name.add_also(wrong.data(), wrong.size(), &why)) << wrong;
    EXPECT_NE(why, nullptr);
    EXPECT_EQ(name.companions().count(), 0u) << "nothing has changed";
  }
  FrameName name;
  const char* why = nullptr;
  const std::string frames = std::string(200, 'f') + "{seq}";
  ASSERT_TRUE(FrameName::parse(frames.data(), frames.size(), &name, &why));
  const std::string also = "*" + std::string(100, 'x');
  EXPECT_FALSE(name.add_also(also.data(), also.size(), &why)) << "too long for a name";
  ASSERT_TRUE(FrameName::parse("{seq}/traj.dcd", 14, &name, &why));
  EXPECT_FALSE(name.add_also("*.dcd", 5, &why)) << "in each frame's directory";
}

TEST(CompanionPatterns, WithoutPatternsAllNumbersAreFrames) {
  const FrameName plain = names("f{seq}", "");
  EXPECT_FALSE(plain.is_companion(~FrameSeq{0}));
  EXPECT_EQ(spelt(plain, ~FrameSeq{0}), "f18446744073709551615");
}

}  // namespace
}  // namespace zazen
