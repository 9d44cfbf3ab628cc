// Which template the names of a directory follow, by names as programs write them.
#include "bodhi/config/template_guess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "bodhi/lean/frames/frame_name.h"

namespace zazen {
namespace {

using Names = std::vector<std::string>;

void expect_guess(const Names& names, const std::string& frames, std::size_t matches) {
  TemplateGuess guess = guess_template(names);
  EXPECT_EQ(guess.frames, frames);
  EXPECT_EQ(guess.matches, matches) << frames;
}

// `count` names, from the first number on.
Names names_of(const std::string& frames, std::size_t count, FrameSeq first = 0) {
  FrameName name;
  const char* why = "";
  EXPECT_TRUE(FrameName::parse(frames.data(), frames.size(), &name, &why)) << why;
  Names names;
  for (FrameSeq seq = first; seq < first + count; ++seq) {
    char text[512];
    names.emplace_back(text, name.format(seq, text, sizeof text));
  }
  return names;
}

TEST(TemplateGuess, FindsTheTemplateThatMadeTheNames) {
  for (const char* frames :
       {"frame-{seq:06}.xtc", "f{seq}", "traj.{seq}.dcd", "{seq:04}/traj.dcd",
        "run1/{seq:04}/traj.dcd", "{seq}", "snap_{seq:03}.h5", "x{seq}.mp3",
        "traj-2026-11-16-{seq:04}.xtc", "2026-11-16/frame_{seq}.nc", "prod.{seq:03}",
        "T300K_p{seq:02}.trr", "sim {seq} of two.dcd", "\xc3\xa4-{seq:08}.xtc"}) {
    expect_guess(names_of(frames, 120), frames, 120);
  }
}

TEST(TemplateGuess, NumberThatVariesIsTheOne) {
  Names names;
  for (int part = 1; part <= 12; ++part)
    names.push_back(fmt::format("md_0001_part{:04}.trr", part));
  expect_guess(names, "md_0001_part{seq:04}.trr", 12);
  names.clear();
  for (int run = 1; run <= 12; ++run)
    names.push_back(fmt::format("md_{:04}_part0003.trr", run));
  expect_guess(names, "md_{seq:04}_part0003.trr", 12);
  // Both vary: one of the runs, and the count says that it is not all.
  names.clear();
  for (int run = 1; run <= 3; ++run) {
    for (int part = 1; part <= 12; ++part)
      names.push_back(fmt::format("md_{}_{}.trr", run, part));
  }
  expect_guess(names, "md_1_{seq}.trr", 12);
}

TEST(TemplateGuess, OtherFilesAreLeftOut) {
  Names names = names_of("frame-{seq:06}.xtc", 500);
  for (const char* other : {"topol.tpr", "conf.pdb", "log.1", "log.2", "run1.mdp", "notes"}) {
    names.push_back(other);
  }
  expect_guess(names, "frame-{seq:06}.xtc", 500);
}

TEST(TemplateGuess, PaddingIsThatOfMostNames) {
  expect_guess({"f1", "f2", "f3", "f04"}, "f{seq}", 3);
  expect_guess({"f01", "f02", "f03", "f4"}, "f{seq:02}", 3);
  expect_guess({"f08", "f09", "f10", "f100"}, "f{seq:02}", 4);  // beyond its width
  expect_guess({"f8", "f9", "f10", "f100"}, "f{seq}", 4);
  expect_guess(names_of("f{seq:06}", 50, 100'000), "f{seq}", 50);  // nothing shows the padding
}

TEST(TemplateGuess, OneNameIsGuessedFromTheRight) {
  expect_guess({"frame-000123.xtc"}, "frame-{seq:06}.xtc", 1);
  expect_guess({"md_0001_part0003.trr"}, "md_0001_part{seq:04}.trr", 1);
  expect_guess({"frame12.h5"}, "frame{seq}.h5", 1);
  expect_guess({"traj.12"}, "traj.{seq}", 1);
  expect_guess({"traj.h5"}, "traj.h{seq}", 1);
}

TEST(TemplateGuess, NothingToGuess) {
  expect_guess({}, "", 0);
  expect_guess({"topology.pdb", "notes"}, "", 0);
  expect_guess({"f123456789012345678901"}, "", 0);  // no number has 21 digits
  expect_guess({"f99999999999999999999"}, "", 0);   // nor is it so large
  expect_guess({"a{seq}1", "a{seq}2"}, "", 0);
  expect_guess({std::string(251, 'x') + "12345"}, "", 0);  // longer than a template may be
}

TEST(TemplateGuess, HundredThousandNames) {
  Names names = names_of("trajectory-of-the-run-2026/frame-{seq:07}.xtc", 100'000);
  const auto begin = std::chrono::steady_clock::now();
  expect_guess(names, "trajectory-of-the-run-2026/frame-{seq:07}.xtc", 100'000);
  // A square of the number of names would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace zazen
