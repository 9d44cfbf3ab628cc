#include "coord/audit/audit.h"

#include <gtest/gtest.h>

#include <random>

#include "cluster_on_disk.h"

namespace zazen {
namespace {

constexpr int kRanks = 4;
constexpr FrameSeq kFrames = 40;

FrameSet block(FrameSeq begin, FrameSeq end, FrameSeq step = 1) {
  std::vector<FrameSeq> frames;
  for (FrameSeq f = begin; f < end; f += step) frames.push_back(f);
  return FrameSet(frames);
}
FrameSet own(int rank) {
  return block(static_cast<FrameSeq>(rank) * 10, static_cast<FrameSeq>(rank + 1) * 10);
}

Agreement filtered_job() {
  Agreement agreement;
  agreement.filtered = true;
  agreement.ranks = kRanks;
  agreement.nodes = 2;
  agreement.places = {{"n0", false}, {"n0", false}, {"n1", false}, {"", false}};
  agreement.datasets = {{"/sim1", "f{seq}", {}, kFrames, 1}};
  return agreement;
}

// A filtered rank that opened these frames of /sim1.
Fragment fragment(int rank, const FrameSet& opened, bool listed = true) {
  Fragment fragment;
  fragment.rank = rank;
  fragment.filtered = true;
  fragment.hits = opened.size();
  DatasetFragment part;
  part.path = "/sim1";
  part.listed = listed;
  part.assigned = own(rank).size();
  part.unread_own = set_difference(own(rank), opened);
  part.read_others = set_difference(opened, own(rank));
  fragment.datasets.push_back(part);
  return fragment;
}

std::vector<std::optional<Fragment>> clean_job() {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) fragments.emplace_back(fragment(r, own(r)));
  return fragments;
}

TEST(Audit, ACleanJobReadEachFrameOnce) {
  Audit audit = merge_fragments(filtered_job(), clean_job());
  EXPECT_TRUE(audit.complete);
  EXPECT_TRUE(audit.exactly_once);
  ASSERT_EQ(audit.datasets.size(), 1U);
  EXPECT_EQ(audit.datasets[0].listed, kFrames);
  EXPECT_EQ(audit.datasets[0].read, kFrames);
  EXPECT_EQ(audit.by_rank[3].assigned, 10U);
  EXPECT_EQ(audit.by_rank[3].read, 10U);
  EXPECT_STREQ(audit.by_rank[1].node, "n0");
  EXPECT_TRUE(loss_message(audit).empty());
  EXPECT_EQ(closing_message(audit),
            std::vector<std::string>{"zazen: read 40 of 40 frames, each once; 100.0% local"});
}

// files[rank::size] of a list that is already filtered.
TEST(Audit, AProgramThatTakesEveryFourthOfItsOwnLosesTheRest) {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) {
    const auto first = static_cast<FrameSeq>(r) * 10;
    fragments.emplace_back(fragment(r, block(first + static_cast<FrameSeq>(r), first + 10, 4)));
  }
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_FALSE(audit.exactly_once);
  EXPECT_EQ(audit.datasets[0].read, 10U);  // 3 + 3 + 2 + 2
  EXPECT_EQ(audit.datasets[0].never_read, 30U);
  EXPECT_EQ(audit.datasets[0].read_twice, 0U);
  std::vector<std::string> words = loss_message(audit);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0], "zazen: 30 of 40 frames of /sim1 were not read by any rank.");
  EXPECT_EQ(words[1],
            "zazen: each rank's listing showed only its own frames; a program that divides the "
            "list itself (files[rank::size], or lists on rank 0 and scatters) must run with "
            "ZAZEN_FILTER=off.");
}

TEST(Audit, AProgramThatListsOnRank0AndScattersLosesTheOtherRanksFrames) {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r)
    fragments.emplace_back(fragment(r, block(static_cast<FrameSeq>(r), 10, 4), r == 0));
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(audit.datasets[0].read, 10U);
  EXPECT_EQ(audit.datasets[0].never_read, 30U);
  EXPECT_EQ(audit.datasets[0].read_twice, 0U);
  EXPECT_EQ(audit.by_rank[1].read, 3U);
  EXPECT_EQ(loss_message(audit).size(), 2U);
}

// Every rank takes every second of its own frames.
std::vector<std::optional<Fragment>> lossy_job(bool listed) {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) {
    const auto first = static_cast<FrameSeq>(r) * 10;
    fragments.emplace_back(fragment(r, block(first, first + 10, 2), listed));
  }
  return fragments;
}

TEST(Audit, UnreadFramesAreAFailureUnlessTheDatasetSaysThatTheyAreNot) {
  Agreement agreement = filtered_job();
  EXPECT_TRUE(is_failure(merge_fragments(agreement, lossy_job(true))));
  EXPECT_FALSE(is_failure(merge_fragments(agreement, clean_job())));
  agreement.datasets[0].audit = AuditMode::kWarn;
  const Audit warned = merge_fragments(agreement, lossy_job(true));
  EXPECT_FALSE(is_failure(warned));
  EXPECT_EQ(loss_message(warned).size(), 2U);
}

TEST(Audit, AJobInWhichNobodyListedTheDirectoryLostNothing) {
  auto fragments = lossy_job(false);
  const Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(audit.datasets[0].never_read, 20U);
  EXPECT_FALSE(is_failure(audit));
  EXPECT_TRUE(loss_message(audit).empty());

  fragments[2]->datasets[0].listed = true;  // or a process that rank 2 started
  EXPECT_TRUE(is_failure(merge_fragments(filtered_job(), fragments)));
}

TEST(Audit, ARankAloneSeesAllAndLosesNothing) {
  Agreement agreement = filtered_job();
  agreement.ranks = 1;
  agreement.datasets[0].domain_count = 10;
  const Audit audit = merge_fragments(agreement, {fragment(0, block(0, 5))});
  EXPECT_EQ(audit.datasets[0].never_read, 5U);
  EXPECT_FALSE(is_failure(audit));
  EXPECT_TRUE(loss_message(audit).empty());
}

TEST(Audit, ARankThatDidNotReportMayHaveReadWhatTheOthersDidNot) {
  auto fragments = lossy_job(true);
  fragments[3].reset();
  const Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_FALSE(is_failure(audit));
  ASSERT_EQ(loss_message(audit).size(), 2U);
  EXPECT_NE(loss_message(audit)[0].find("did not arrive"), std::string::npos);
  fragments = clean_job();
  fragments[3].reset();
  EXPECT_TRUE(loss_message(merge_fragments(filtered_job(), fragments)).empty());
}

TEST(Audit, ReadingAllOfAListingOfBeforeMpiInitIsAFailure) {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) {
    fragments.emplace_back(fragment(r, block(0, kFrames), false));
    fragments.back()->datasets[0].listed_early = r != 0;
  }
  Agreement agreement = filtered_job();
  Audit audit = merge_fragments(agreement, fragments);
  EXPECT_TRUE(is_failure(audit));
  ASSERT_EQ(loss_message(audit).size(), 1U);
  EXPECT_EQ(
      loss_message(audit)[0],
      "zazen: rank 1 listed /sim1 before MPI_Init, so it saw the frames of all ranks; 40 "
      "frames were read by several ranks (list after MPI_Init, or run with --no-divide).");
  agreement.datasets[0].audit = AuditMode::kWarn;
  audit = merge_fragments(agreement, fragments);
  EXPECT_FALSE(is_failure(audit));
  EXPECT_EQ(loss_message(audit).size(), 1U);

  // Those that list again see their own, and others read all by name.
  for (auto& each : fragments) each->datasets[0].listed = true;
  EXPECT_TRUE(loss_message(merge_fragments(filtered_job(), fragments)).empty());
}

TEST(Audit, AListingOfBeforeMpiInitMayBeDividedByTheProgram) {
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) {  // files[rank::size], after a reference frame
    const auto first = static_cast<FrameSeq>(r);
    fragments.emplace_back(
        fragment(r, set_union(block(0, 1), block(first, kFrames, kRanks)), false));
    fragments.back()->datasets[0].listed_early = true;
  }
  const Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(audit.datasets[0].read_twice, 1U);
  EXPECT_FALSE(is_failure(audit));
  EXPECT_TRUE(loss_message(audit).empty());
}

TEST(Audit, ADatasetThatIsNotFilteredIsInTheReportOfAFilteredJob) {
  auto fragments = clean_job();
  for (auto& fragment : fragments) {
    Fragment more;
    DatasetFragment all_read_it;
    all_read_it.path = "/unfiltered";
    all_read_it.listed_frames = FrameSet({1, 2, 3});
    all_read_it.opened_frames = FrameSet({1, 2});
    more.datasets.push_back(all_read_it);
    more.hits = 2;
    const std::uint64_t hits = fragment->hits;
    add_fragment(std::move(more), &*fragment);
    EXPECT_EQ(fragment->hits, hits + 2);
  }
  Audit audit = merge_fragments(filtered_job(), fragments);
  ASSERT_EQ(audit.datasets.size(), 2U);
  EXPECT_EQ(audit.frames_read_twice, 2U);
  EXPECT_EQ(audit.frames_never_read, 1U);
  EXPECT_FALSE(audit.exactly_once);
  EXPECT_TRUE(loss_message(audit).empty());  // nothing was hidden from anybody there
}

TEST(Audit, NothingListedAndNothingReadIsNotExactlyOnce) {
  std::vector<std::optional<Fragment>> fragments(kRanks);
  for (int r = 0; r < kRanks; ++r) {
    fragments[static_cast<std::size_t>(r)].emplace();
    fragments[static_cast<std::size_t>(r)]->rank = r;
    fragments[static_cast<std::size_t>(r)]->filtered = true;
  }
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_TRUE(audit.complete);
  EXPECT_FALSE(audit.exactly_once);
}

TEST(Audit, AFrameThatItsOwnerAndAnotherOpenedIsReadTwice) {
  auto fragments = clean_job();
  fragments[2] = fragment(2, set_union(own(2), FrameSet({5, 35})));
  fragments[3] = fragment(3, set_union(own(3), FrameSet({5})));
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(audit.datasets[0].read_twice, 2U);
  EXPECT_EQ(audit.datasets[0].never_read, 0U);
  EXPECT_FALSE(audit.exactly_once);
  EXPECT_TRUE(loss_message(audit).empty());
  EXPECT_EQ(closing_message(audit)[0],
            "zazen: read 40 of 40 frames, 2 of them by several ranks; 100.0% local");
}

TEST(Audit, TwoStrangersToAFrameReadItTwiceThoughItsOwnerDidNot) {
  auto fragments = clean_job();
  fragments[0] = fragment(0, block(1, 10));
  fragments[2] = fragment(2, set_union(own(2), FrameSet({0})));
  fragments[3] = fragment(3, set_union(own(3), FrameSet({0})));
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(audit.datasets[0].read_twice, 1U);
  EXPECT_EQ(audit.datasets[0].read, kFrames);
}

TEST(Audit, AMissingFragmentMakesTheAuditIncompleteButAccusesNobody) {
  auto fragments = clean_job();
  fragments[1].reset();
  Audit audit = merge_fragments(filtered_job(), fragments);
  EXPECT_FALSE(audit.complete);
  EXPECT_FALSE(audit.exactly_once);
  EXPECT_EQ(audit.datasets[0].never_read, 0U);
  EXPECT_FALSE(audit.by_rank[1].reported);
  EXPECT_TRUE(loss_message(audit).empty());
  EXPECT_EQ(closing_message(audit)[0],
            "zazen: read 30 of 40 frames, the figures of 1 of 4 ranks did not arrive; 100.0% "
            "local");

  fragments[0] = fragment(0, block(0, 8));
  audit = merge_fragments(filtered_job(), fragments);
  EXPECT_EQ(
      loss_message(audit)[0],
      "zazen: 2 of 40 frames of /sim1 were not read by any rank that reported (the figures "
      "of 1 of 4 ranks did not arrive).");
}

TEST(Audit, ADatasetThatNobodyTouchedIsLeftOut) {
  Agreement agreement = filtered_job();
  agreement.datasets.push_back({"/sim2", "f{seq}", {}, 400, 0});
  auto fragments = clean_job();
  for (auto& f : fragments) {
    DatasetFragment untouched;
    untouched.path = "/sim2";
    untouched.assigned = 100;
    untouched.unread_own =
        block(static_cast<FrameSeq>(f->rank) * 100, static_cast<FrameSeq>(f->rank + 1) * 100);
    f->datasets.push_back(untouched);
  }
  Audit audit = merge_fragments(agreement, fragments);
  EXPECT_TRUE(audit.exactly_once);
  EXPECT_EQ(audit.frames_listed, kFrames);

  fragments[3]->datasets[1].listed = true;
  audit = merge_fragments(agreement, fragments);
  EXPECT_EQ(audit.frames_never_read, 400U);
}

TEST(Audit, AnUnfilteredJobIsExactlyOnceIfTheRanksDividedTheListThemselves) {
  Agreement agreement = filtered_job();
  agreement.filtered = false;
  agreement.datasets.clear();
  std::vector<std::optional<Fragment>> fragments;
  for (int r = 0; r < kRanks; ++r) {
    Fragment f;
    f.rank = r;
    DatasetFragment part;
    part.path = "/sim1";
    part.listed = true;
    part.listed_frames = block(0, kFrames);
    part.opened_frames = block(static_cast<FrameSeq>(r), kFrames, kRanks);
    f.datasets.push_back(part);
    fragments.emplace_back(f);
  }
  Audit audit = merge_fragments(agreement, fragments);
  EXPECT_TRUE(audit.exactly_once);
  EXPECT_EQ(audit.datasets[0].listed, kFrames);
  EXPECT_EQ(audit.by_rank[2].read, 10U);

  fragments[2]->datasets[0].opened_frames = FrameSet({0, 2});
  audit = merge_fragments(agreement, fragments);
  EXPECT_FALSE(audit.exactly_once);
  EXPECT_EQ(audit.datasets[0].read_twice, 1U);
  EXPECT_EQ(audit.datasets[0].never_read, 9U);
  EXPECT_TRUE(loss_message(audit).empty());

  fragments[2]->whole = false;
  EXPECT_FALSE(merge_fragments(agreement, fragments).complete);
}

TEST(Words, OfTheStart) {
  Agreement agreement = filtered_job();
  agreement.datasets[0].domain_count = 1000;
  agreement.datasets[0].adopted = 6;
  EXPECT_EQ(start_message(agreement, 0.021),
            (std::vector<std::string>{
                "zazen: 4 ranks on 2 nodes: 1,000 frames of /sim1 assigned in 0.02 s",
                "  own node 99.4%   adopted 0.6%   each frame to exactly one rank"}));
  agreement.filtered = false;
  agreement.reason = "no rank reaches a daemon";
  EXPECT_EQ(start_message(agreement, 0.021),
            std::vector<std::string>{"zazen: not filtered: no rank reaches a daemon"});
}

TEST(Fragment, OfALedgerNamesTheDatasets) {
  Ledger* ledger = make_ledger();
  ASSERT_NE(ledger, nullptr);
  const std::uint32_t dataset = ledger->dataset_of(text_key("/sim2"), "/sim2");
  ledger->note(dataset, 7, Ledger::kListed);
  ledger->note(dataset, 7, Ledger::kOpened);
  ledger->note(dataset, 9, Ledger::kListed);
  ledger->hits = 1;
  Fragment fragment = fragment_of_ledger(*ledger, 5);
  EXPECT_EQ(fragment.rank, 5);
  EXPECT_TRUE(fragment.whole);
  ASSERT_EQ(fragment.datasets.size(), 1U);
  EXPECT_EQ(fragment.datasets[0].path, "/sim2");
  EXPECT_EQ(fragment.datasets[0].listed_frames, FrameSet({7, 9}));
  EXPECT_EQ(fragment.datasets[0].opened_frames, FrameSet({7}));

  ledger->has_path[dataset] = 0;
  fragment = fragment_of_ledger(*ledger, 5);
  EXPECT_FALSE(fragment.whole);
  EXPECT_EQ(fragment.hits, 1U);
}

TEST(RunGathering, FramesOfSeveralNodesCountOnce) {
  RunPlace place;
  place.number = 7;
  RunRecord* own = make_run_record(place);
  ASSERT_NE(own, nullptr);
  const std::uint32_t dataset = own->ledger.dataset_of(text_key("/sim1"), "/sim1");
  for (FrameSeq seq : {1, 2, 3})
    own->ledger.frames += own->ledger.note(dataset, seq, Ledger::kOpened);
  own->ledger.hits = 3;
  auto other = [](FrameSet opened, const std::string& path) {
    Fragment fragment;
    fragment.misses = opened.size();
    fragment.bytes_origin = 10 * opened.size();
    fragment.datasets.emplace_back().path = path;
    fragment.datasets.back().opened_frames = std::move(opened);
    return fragment;
  };
  add_others({std::nullopt, other(FrameSet({2, 3, 4}), "/sim1"),
              other(FrameSet({4, 5}), "/sim1"), other(FrameSet({1}), "/sim2")},
             *own);
  const RunFigures figures = figures_of(*own);
  EXPECT_EQ(figures.frames, 6U);
  EXPECT_EQ(figures.hits, 3U);
  EXPECT_EQ(figures.misses, 6U);
  EXPECT_EQ(figures.bytes_origin, 60U);
  unmap_run_record(own);
}

TEST(Settings, PathsAreSplitAndTrimmed) {
  EXPECT_EQ(split_paths("/a b/:/c//::/"), (std::vector<std::string>{"/a b", "/c", "/"}));
  EXPECT_TRUE(split_paths("").empty());
}

TEST(Fragment, SurvivesItsEncoding) {
  Fragment original = fragment(3, FrameSet({1, 2, 31, 33}));
  original.misses = 7;
  original.bytes_origin = 1ULL << 50;
  original.datasets[0].opened_outside = 2;
  original.datasets[0].listed_frames = block(0, 9);
  Result<Fragment> decoded = decode_fragment(encode_fragment(original), 10 + 10);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, original);
}

TEST(Fragment, RefusesBytesThatAreCutAppendedOrAbsurd) {
  const std::string good = encode_fragment(fragment(3, FrameSet({1, 2, 31, 33})));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(decode_fragment(std::string_view(good).substr(0, length), 10).ok()) << length;
  EXPECT_TRUE(decode_fragment(good, 10).ok());
  EXPECT_FALSE(decode_fragment(good + '\0', 10).ok());
  EXPECT_FALSE(decode_fragment(good, 9).ok());

  Fragment absurd = fragment(0, own(0));
  absurd.datasets[0].assigned = 1;
  absurd.datasets[0].unread_own = block(0, 5);
  EXPECT_FALSE(decode_fragment(encode_fragment(absurd), 10).ok());
}

TEST(Fragment, SurvivesHostileBytes) {
  std::mt19937_64 random(3);
  const std::string good = encode_fragment(fragment(3, FrameSet({1, 2, 31, 33})));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (unsigned flips = 1 + random() % 4; flips != 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Result<Fragment> decoded = decode_fragment(bytes, 1000);
    if (!decoded) continue;
    for (const DatasetFragment& part : decoded->datasets)
      EXPECT_LE(part.unread_own.size(), part.assigned);
  }
}

}  // namespace
}  // namespace zazen
