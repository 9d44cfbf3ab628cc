#include "bodhi/lean/run/other_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bodhi/lean/run/ledger.h"

namespace zazen {
namespace {

std::string pattern_of(const std::string& name) {
  char text[OtherPattern::kText];
  write_pattern(name.c_str(), text);
  return text;
}

TEST(OtherFiles, NamesThatDifferInNumbersAreOnePattern) {
  EXPECT_EQ(pattern_of(".f0012.xtc_offsets.npz"), ".f*.xtc_offsets.npz");
  EXPECT_EQ(pattern_of("123.pdb"), "*.pdb");
  EXPECT_EQ(pattern_of("run2/x7y8"), "run*/x*y*");
  EXPECT_EQ(pattern_of("top.pdb"), "top.pdb");
  EXPECT_EQ(pattern_of(""), ".");
  EXPECT_EQ(pattern_of(std::string(200, 'x')), std::string(OtherPattern::kText - 1, 'x'));
}

TEST(OtherFiles, TheMostFrequentComeFirst) {
  auto files = std::make_unique<OtherFiles>();
  for (int i = 0; i < 30; ++i) files->note(1, "top.pdb", OtherCall::kRead, 1'000);
  for (int i = 0; i < 40; ++i) {
    files->note(1, (".f" + std::to_string(i) + ".lock").c_str(), OtherCall::kWrite, 2'000);
  }
  for (int i = 0; i < 50; ++i) files->note(1, "", OtherCall::kStat, 3'000);
  files->note(2, "top.pdb", OtherCall::kRead, -5);
  const OtherPattern* most[OtherFiles::kMostShown] = {};
  ASSERT_EQ(files->most_frequent(1, most), 3u);
  EXPECT_STREQ(most[0]->text, ".");
  EXPECT_EQ(most[0]->stats(), 50u);
  EXPECT_EQ(most[0]->stat_ns, 150'000u);
  EXPECT_EQ(most[0]->opens(), 0u);
  EXPECT_STREQ(most[1]->text, ".f*.lock");
  EXPECT_EQ(most[1]->calls[1], 40u);
  EXPECT_EQ(most[1]->open_ns, 80'000u);
  EXPECT_STREQ(most[2]->text, "top.pdb");
  EXPECT_EQ(most[2]->calls[0], 30u);
  ASSERT_EQ(files->most_frequent(Ledger::kNoDataset, most), 4u);
  EXPECT_EQ(most[3]->dataset, 2u);
  EXPECT_EQ(most[3]->open_ns, 0u);
}

TEST(OtherFiles, ManyPatternsShareTheLastSlot) {
  auto files = std::make_unique<OtherFiles>();
  for (int round = 0; round < 2; ++round) {
    for (char a = 'a'; a <= 'z'; ++a) {
      for (char b = 'a'; b <= 'z'; ++b) {
        files->note(0, (std::string() + a + b).c_str(), OtherCall::kRead, 1);
      }
    }
  }
  const OtherPattern* most[OtherFiles::kMostShown] = {};
  ASSERT_EQ(files->most_frequent(Ledger::kNoDataset, most), OtherFiles::kMostShown);
  EXPECT_STREQ(most[0]->text, "other names");
  EXPECT_EQ(most[0]->opens(), 2 * (26 * 26 - (OtherFiles::kPatterns - 1)));
  EXPECT_EQ(most[1]->opens(), 2u);
}

TEST(OtherFiles, ThreadsLoseNothing) {
  auto files = std::make_unique<OtherFiles>();
  constexpr int kThreads = 4, kCalls = 10'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        files->note(0, ("x" + std::to_string(i)).c_str(), OtherCall::kRead, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const OtherPattern* most[OtherFiles::kMostShown] = {};
  ASSERT_EQ(files->most_frequent(0, most), 1u);
  EXPECT_EQ(most[0]->calls[0], static_cast<std::uint64_t>(kThreads) * kCalls);
  EXPECT_EQ(most[0]->open_ns, static_cast<std::uint64_t>(kThreads) * kCalls);
}

}  // namespace
}  // namespace zazen
