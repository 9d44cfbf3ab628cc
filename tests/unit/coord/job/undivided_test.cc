#include "coord/job/undivided.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

Agreement job(bool filtered, FilterMode expected) {
  Agreement agreement;
  agreement.ranks = 4;
  agreement.filtered = filtered;
  agreement.expected = expected;
  agreement.expected_paths = "/sim1";
  agreement.reason = "no rank reaches a daemon";
  return agreement;
}

TEST(Undivided, ADividedJobOrOneThatNeedNotBeSaysNothing) {
  for (FilterMode expected : {FilterMode::kOn, FilterMode::kRequire}) {
    EXPECT_EQ(verdict_on(job(true, expected)).line, "");
    EXPECT_FALSE(verdict_on(job(true, expected)).ends);
  }
  EXPECT_EQ(verdict_on(job(false, FilterMode::kOff)).line, "");
}

TEST(Undivided, TheLineNamesTheFramesAndTheReason) {
  Agreement agreement = job(false, FilterMode::kOn);
  EXPECT_EQ(verdict_on(agreement).line,
            "zazen: this job is not divided: every rank sees all frames of /sim1: no rank "
            "reaches a daemon (--no-divide or ZAZEN_FILTER=off: no message)");
  EXPECT_FALSE(verdict_on(agreement).ends);
  agreement.expected_paths = "";
  EXPECT_EQ(verdict_on(agreement).line,
            "zazen: this job is not divided: every rank sees all frames: no rank "
            "reaches a daemon (--no-divide or ZAZEN_FILTER=off: no message)");
}

TEST(Undivided, AJobThatMustBeDividedEnds) {
  EXPECT_TRUE(verdict_on(job(false, FilterMode::kRequire)).ends);
  EXPECT_EQ(verdict_on(job(false, FilterMode::kRequire)).line,
            "zazen: this job ends: the frames of /sim1 cannot be divided among the ranks: no "
            "rank reaches a daemon (--no-divide or ZAZEN_FILTER=off: it runs undivided)");
}

TEST(Undivided, OneDatasetThatIsLeftOutCountsByItsOwnKey) {
  Agreement agreement = job(true, FilterMode::kRequire);
  agreement.left_out = {{"/a", "No such file or directory", FilterMode::kOn}};
  DivisionVerdict verdict = verdict_on(agreement);
  EXPECT_FALSE(verdict.ends);
  EXPECT_TRUE(verdict.line.starts_with(
      "zazen: this job is only partly divided: every rank sees all frames of /a: No such file "
      "or directory ("))
      << verdict.line;
  agreement.left_out.push_back({"/b", "Permission denied", FilterMode::kRequire});
  verdict = verdict_on(agreement);
  EXPECT_TRUE(verdict.ends);
  EXPECT_TRUE(verdict.line.starts_with(
      "zazen: this job ends: the frames of /a, /b cannot be divided among the ranks: /a: No "
      "such file or directory; /b: Permission denied ("))
      << verdict.line;
}

TEST(Undivided, OneRankIsAsGoodAsDividedUnlessItIsOneOfSeveral) {
  Agreement agreement = job(false, FilterMode::kRequire);
  agreement.ranks = 1;
  EXPECT_EQ(verdict_on(agreement).line, "");
  agreement.launched = 4;
  EXPECT_TRUE(verdict_on(agreement).ends);
}

}  // namespace
}  // namespace zazen
