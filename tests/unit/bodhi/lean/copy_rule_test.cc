#include "bodhi/lean/frames/copy_rule.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

bool is(CopyVerdict verdict, CopyUse use, CopyReason reason) {
  return verdict.use == use && verdict.reason == reason;
}

struct CopyRule : testing::Test {
  TableDataset dataset = {};
  CopyFacts facts = {.dataset = &dataset, .directory_is_open = true};
};

TEST_F(CopyRule, FactsThatKeepFromTheCopy) {
  EXPECT_TRUE(is(judge(facts), CopyUse::kServe, CopyReason::kTrusted));
  facts.copy_error = EACCES;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kCopyClosed));
  facts.copy_error = ENOENT;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kNoCopy));
  facts.directory_is_open = false;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kDirectoryClosed));
  facts.dataset = nullptr;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kNotServed));
}

TEST_F(CopyRule, ReasonsToCompare) {
  facts.is_first_use = true;
  EXPECT_TRUE(is(judge(facts), CopyUse::kCompare, CopyReason::kFirstUse));
  dataset.validate = Validate::kNever;
  EXPECT_TRUE(is(judge(facts), CopyUse::kServe, CopyReason::kTrusted));
  // These count whatever `validate` says.
  facts.is_distrusted = true;
  EXPECT_TRUE(is(judge(facts), CopyUse::kCompare, CopyReason::kDistrusted));
  for (DoubtCause cause : {kStale, kUnwatched, kYoung}) {
    dataset.doubts = cause;
    EXPECT_TRUE(is(judge(facts), CopyUse::kCompare, CopyReason::kDoubted)) << cause;
  }
  dataset.validate = Validate::kAlways;
  EXPECT_TRUE(is(judge(facts), CopyUse::kCompare, CopyReason::kAlways));
}

TEST_F(CopyRule, ComparisonDecides) {
  dataset.validate = Validate::kAlways;
  facts.comparison = Comparison::kSame;
  EXPECT_TRUE(is(judge(facts), CopyUse::kServe, CopyReason::kAsOrigin));
  facts.comparison = Comparison::kDiffers;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kStale));
  facts.comparison = Comparison::kNoIdentity;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kNoIdentity));
  facts.directory_is_open = false;
  facts.comparison = Comparison::kSame;
  EXPECT_TRUE(is(judge(facts), CopyUse::kOrigin, CopyReason::kDirectoryClosed));
}

}  // namespace
}  // namespace zazen
