// The start of a job on threads, with real directories for the origin, the caches and the
// views. The shim's part of the plug-in border is played by thread-local state.
#include "coord/job/job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "bodhi/lean/frames/view.h"
#include "cluster_on_disk.h"
#include "losing_communicator.h"
#include "thread_communicator.h"

namespace zazen {
namespace {

struct Shim {
  int adopt_code = 0;
  bool active = false, dropped = false;
  const View* view = nullptr;
  Tally* tally = nullptr;
};
thread_local Shim shim;

int adopt(const char* directory, const View** view, Tally** tally) {
  if (shim.adopt_code != 0) return shim.adopt_code;
  if (!map_view(directory, &shim.view, &shim.tally)) return EINVAL;
  *view = shim.view;
  *tally = shim.tally;
  return 0;
}

void drop() {
  shim.dropped = true;
  unmap_view(shim.view, shim.tally);
}

constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

struct RankResult {
  Agreement agreement;
  Shim shim;
  int calls = 0;                                     // of those that can be lost
  std::map<std::string, std::vector<FrameSeq>> own;  // by dataset path
  std::map<std::string, std::vector<std::string>> others;
};

class JobTest : public ::testing::Test {
 protected:
  // Runs a job whose rank r is on node places[r].
  std::vector<RankResult> run(const std::vector<std::size_t>& places) {
    for (std::size_t node : places)
      if (node != kNoNode) cluster_.table(node);
    std::vector<RankResult> results(places.size());
    board_ = run_ranks(static_cast<int>(places.size()), [&](Communicator& world) {
      const auto me = static_cast<std::size_t>(world.rank());
      shim = Shim{};
      if (fail_to_adopt_ == world.rank()) shim.adopt_code = ENOSPC;
      const bool daemon = places[me] != kNoNode;
      const std::string runtime = daemon ? cluster_.runtime(places[me]) : "";
      PluginHost host{kPluginVersion,
                      daemon ? cluster_.table(places[me]) : nullptr,
                      runtime.c_str(),
                      nullptr,
                      adopt,
                      [] { shim.active = true; },
                      drop};
      if (me < expected_.size()) {
        host.expected = expected_[me];
        host.expected_paths = "/sim1";
      }
      Settings settings;
      settings.filter = wish_;
      settings.temporary = cluster_.temporary();
      if (off_ == world.rank()) settings.filter = FilterWish::kOff;
      if (!only_.empty()) settings.datasets = only_;
      if (me < selections_.size()) settings.selection = selections_[me];
      if (me < paper_.size() && paper_[me]) settings.protocol = ProtocolChoice::kPaper;
      RankResult& result = results[me];
      LosingCommunicator losing(world, losing_rank_ == world.rank() ? lost_call_ : -1,
                                &result.calls);
      result.agreement = agree_on_views(losing, host, settings);
      result.shim = shim;
      if (result.agreement.filtered) read_view(&result);
    });
    return results;
  }

  static void read_view(RankResult* result) {
    const View& view = *result->agreement.view;
    for (std::uint32_t d = 0; d < view.dataset_count; ++d) {
      const ViewDataset& dataset = view.datasets[d];
      auto& own = result->own[dataset.path];
      for (std::uint64_t i = 0; i < dataset.own_count; ++i)
        own.push_back(own_frame(view, dataset, i).seq);
      for (std::uint64_t i = 0; i < dataset.names_count; ++i)
        result->others[dataset.path].push_back(reinterpret_cast<const char*>(&view) +
                                               other_names(view, dataset)[i].name_offset);
    }
    unmap_view(result->agreement.view, result->agreement.tally);
  }

  static std::vector<std::string> frame_files(std::size_t count) {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < count; ++i) files.push_back("f" + std::to_string(i));
    return files;
  }

  static void expect_nobody_filtered(const std::vector<RankResult>& results) {
    for (const RankResult& result : results) {
      EXPECT_FALSE(result.agreement.filtered);
      EXPECT_FALSE(result.shim.active);
      EXPECT_EQ(result.agreement.reason, results[0].agreement.reason);
    }
  }

  ClusterOnDisk cluster_;
  std::shared_ptr<ThreadCommunicator::Board> board_;
  int fail_to_adopt_ = -1;
  int off_ = -1;
  FilterWish wish_ = FilterWish::kAuto;
  std::vector<FilterMode> expected_;  // by rank
  int losing_rank_ = -1, lost_call_ = -1;
  std::vector<std::string> only_;
  std::vector<bool> paper_;
  std::vector<Selection> selections_;
};

TEST_F(JobTest, EachRankSeesItsNodesNativesAndAllSeeTheOrdinaryFiles) {
  std::vector<std::string> files = frame_files(4);
  files.push_back("topology.pdb");
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", files);
  cluster_.add_node();
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 2}, {});
  cluster_.hold(1, sim, {1, 3}, {});
  std::vector<RankResult> results = run({0, 1});
  for (const RankResult& result : results) {
    ASSERT_TRUE(result.agreement.filtered) << result.agreement.reason;
    EXPECT_TRUE(result.shim.active);
    std::vector<std::string> others = result.others.at(sim.path);
    std::ranges::sort(others);
    EXPECT_EQ(others, (std::vector<std::string>{".", "..", "topology.pdb"}));
  }
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 2}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{1, 3}));
  EXPECT_EQ(results[0].agreement.nodes, 2);
  EXPECT_EQ(results[0].agreement.places[1].node, "n1");
  EXPECT_EQ(results[0].agreement.datasets[0].adopted, 0U);
}

TEST_F(JobTest, RanksOfANodeShareItsFramesInEvenBlocks) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(7));
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 1, 2, 3, 4, 5, 6}, {});
  std::vector<RankResult> results = run({0, 0, 0});
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 1, 2}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{3, 4}));
  EXPECT_EQ(results[2].own.at(sim.path), (std::vector<FrameSeq>{5, 6}));
}

TEST_F(JobTest, RanksWithoutADaemonGetTheResiduesForWhichTheOthersHaveNoRoom) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(12));
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 1}, {});
  for (bool paper : {false, true}) {
    paper_ = {paper};
    std::vector<RankResult> results = run({kNoNode, 0, kNoNode, kNoNode});
    std::multiset<FrameSeq> shown;
    for (const RankResult& result : results)
      shown.insert(result.own.at(sim.path).begin(), result.own.at(sim.path).end());
    EXPECT_EQ(shown, (std::multiset<FrameSeq>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    // Twice an even share of all frames; by the paper, of the residues.
    EXPECT_EQ(results[1].own.at(sim.path).size(), paper ? 7U : 6U);
    for (int rank : {0, 2, 3})
      EXPECT_NEAR(static_cast<double>(results[rank].own.at(sim.path).size()), 2, 1);
    EXPECT_TRUE(results[0].agreement.view_directory.starts_with(cluster_.temporary()));
    EXPECT_TRUE(
        results[1].agreement.view_directory.starts_with(cluster_.runtime(0) + "/jobs/"));
    EXPECT_EQ(results[0].agreement.datasets[0].adopted, 10U);
    EXPECT_EQ(results[0].agreement.nodes, 1);
  }
}

TEST_F(JobTest, ADeadDaemonsFramesAreDealtToNodesThatCanCacheThem) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(12));
  for (std::size_t node = 0; node < 4; ++node) {
    cluster_.add_node();
    cluster_.hold(node, sim, {3 * node, 3 * node + 1, 3 * node + 2}, {});
  }
  cluster_.mutable_table(3)->state = DaemonState::kStopped;
  for (bool paper : {false, true}) {
    paper_ = {paper};
    std::vector<RankResult> results = run({0, 1, 2, 3});
    EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 1, 2, 9}));
    EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{3, 4, 5, 10}));
    EXPECT_EQ(results[2].own.at(sim.path), (std::vector<FrameSeq>{6, 7, 8, 11}));
    EXPECT_TRUE(results[3].own.at(sim.path).empty());
  }
}

TEST_F(JobTest, ANodeWhoseDaemonLacksTheDatasetCannotCacheIt) {
  const auto& a = cluster_.add_dataset("a", "f{seq}", frame_files(6));
  for (int node = 0; node < 3; ++node) cluster_.add_node();
  std::snprintf(cluster_.mutable_table(2)->datasets[0].path, kMaxPath, "/elsewhere");
  cluster_.mutable_table(2)->datasets[0].filter = FilterMode::kOff;
  std::vector<RankResult> results = run({0, 1, 2});
  ASSERT_TRUE(results[0].agreement.filtered) << results[0].agreement.reason;
  EXPECT_EQ(results[0].own.at(a.path), (std::vector<FrameSeq>{0, 1, 2}));
  EXPECT_EQ(results[1].own.at(a.path), (std::vector<FrameSeq>{3, 4, 5}));
  EXPECT_TRUE(results[2].own.at(a.path).empty());
}

// The two algorithms deal residues differently, which shows which of them ran.
TEST_F(JobTest, TheAlgorithmIsTheOneThatRankZeroChose) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 1}, {});
  paper_ = {true, false};
  std::vector<RankResult> results = run({0, 1});
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 1, 2}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{3}));
  paper_ = {false, true};
  results = run({0, 1});
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 1}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{2, 3}));
}

// Each is divided for itself: a job may read one of them and leave the others alone.
TEST_F(JobTest, SeveralDatasetsTakeAsManyOperationsAsOne) {
  for (int node = 0; node < 3; ++node) cluster_.add_node();
  for (const char* name : {"a", "b", "c", "d", "e"})
    cluster_.add_dataset(name, "f{seq}", frame_files(13));
  for (const DatasetOnDisk& each : cluster_.datasets()) {
    // Two natives, one of them an alien elsewhere, another alien, and residues.
    cluster_.hold(1, each, {0, 1}, {});
    cluster_.hold(2, each, {}, {0, 2});
  }
  std::vector<int> operations;  // for one
  for (const DatasetOnDisk& next : cluster_.datasets()) {
    only_.push_back(next.path);
    std::vector<RankResult> results = run({0, 1, 2});
    for (const RankResult& result : results) ASSERT_TRUE(result.agreement.filtered);
    std::vector<int> taken = {board_->calls.sums, board_->calls.mins, results[0].calls};
    results = run({0, 1, 1, 2});
    for (const std::string& path : only_) {
      std::multiset<FrameSeq> shown;
      for (const RankResult& result : results) {
        ASSERT_TRUE(result.agreement.filtered) << result.agreement.reason;
        const std::vector<FrameSeq>& own = result.own.at(path);
        EXPECT_GE(own.size(), 3U);
        EXPECT_LE(own.size(), 4U);
        shown.insert(own.begin(), own.end());
      }
      EXPECT_EQ(shown, (std::multiset<FrameSeq>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    }
    for (const RankResult& result : results) taken.push_back(result.calls);
    if (operations.empty()) operations = taken;
    EXPECT_EQ(taken, operations) << only_.size() << " datasets";
  }
}

TEST_F(JobTest, NobodyWithADaemonMeansNobodyIsFiltered) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  std::vector<RankResult> results = run({kNoNode, kNoNode});
  expect_nobody_filtered(results);
  EXPECT_EQ(results[0].agreement.reason, "no rank reaches a daemon");
}

TEST_F(JobTest, AllRanksKnowTheMostThatOneExpectsOfTheJob) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  expected_ = {FilterMode::kOff, FilterMode::kRequire, FilterMode::kOn};
  for (const RankResult& result : run({kNoNode, kNoNode, kNoNode})) {
    EXPECT_EQ(result.agreement.expected, FilterMode::kRequire);
    EXPECT_EQ(result.agreement.expected_paths, "/sim1");
  }
}

TEST_F(JobTest, RequireDividesTheDatasetsThatAreNamedWhateverTheirKeySays) {
  const auto& a = cluster_.add_dataset("a", "f{seq}", frame_files(2));
  const auto& b = cluster_.add_dataset("b", "f{seq}", frame_files(2));
  cluster_.add_node();
  cluster_.mutable_table(0)->datasets[0].filter = FilterMode::kOff;
  cluster_.mutable_table(0)->datasets[1].audit = AuditMode::kWarn;
  wish_ = FilterWish::kRequire;
  std::vector<RankResult> results = run({0, 0});
  ASSERT_EQ(results[0].own.size(), 1U);  // the other one's key says no
  EXPECT_EQ(results[0].own.begin()->first, b.path);
  EXPECT_EQ(results[0].agreement.datasets[0].audit, AuditMode::kWarn);
  only_ = {a.path};
  results = run({0, 0});
  ASSERT_EQ(results[1].own.size(), 1U);
  EXPECT_EQ(results[1].own.begin()->first, a.path);
  EXPECT_EQ(results[1].agreement.datasets[0].audit, AuditMode::kFail);
}

TEST_F(JobTest, ADatasetThatMustBeDividedAndCannotBeIsNamedSo) {
  const auto& gone = cluster_.add_dataset("gone", "f{seq}", {});
  cluster_.add_dataset("sim1", "f{seq}", frame_files(2));
  std::filesystem::remove(gone.path);
  cluster_.add_node();
  cluster_.mutable_table(0)->datasets[0].filter = FilterMode::kRequire;
  for (const RankResult& result : run({0, kNoNode})) {
    ASSERT_EQ(result.agreement.left_out.size(), 1U);
    EXPECT_EQ(result.agreement.left_out[0].filter, FilterMode::kRequire);
  }
}

TEST_F(JobTest, DatasetsThatOnlySomeNodesDivideAreLeftOutByAll) {
  const auto& both = cluster_.add_dataset("both", "f{seq}", frame_files(4));
  const auto& some = cluster_.add_dataset("some", "f{seq}", frame_files(4));
  const auto& other = cluster_.add_dataset("other", "f{seq}", frame_files(4));
  for (int node = 0; node < 3; ++node) cluster_.add_node();
  cluster_.mutable_table(0)->datasets[1].removed = 1;
  cluster_.mutable_table(0)->datasets[2].filter = FilterMode::kOff;
  cluster_.mutable_table(1)->datasets[2].removed = 1;
  cluster_.mutable_table(2)->datasets[1].filter = FilterMode::kRequire;
  for (const RankResult& result : run({kNoNode, 0, 1, 1, 2})) {
    ASSERT_TRUE(result.agreement.filtered);
    ASSERT_EQ(result.own.size(), 1U);
    EXPECT_EQ(result.own.begin()->first, both.path);
    const std::vector<LeftOut>& left_out = result.agreement.left_out;
    ASSERT_EQ(left_out.size(), 2U);
    EXPECT_EQ(left_out[0].path, some.path);
    EXPECT_EQ(left_out[0].why,
              "node n1 divides it by its configuration or environment, node n0 does not");
    EXPECT_EQ(left_out[0].filter, FilterMode::kRequire);  // n2 says so
    EXPECT_EQ(left_out[1].path, other.path);
    EXPECT_EQ(left_out[1].filter, FilterMode::kOn);
  }
  only_ = {both.path, "/nowhere"};
  for (const RankResult& result : run({0, 1})) {
    ASSERT_EQ(result.agreement.left_out.size(), 1U);
    EXPECT_EQ(result.agreement.left_out[0].why, "no such dataset");
  }
  only_ = {some.path};  // node 0 does not know it, and decides
  for (const RankResult& result : run({0, 1})) ASSERT_EQ(result.agreement.left_out.size(), 1U);
  for (const RankResult& result : run({1, 0})) {  // node 1 decides
    EXPECT_TRUE(result.agreement.filtered);
    EXPECT_TRUE(result.agreement.left_out.empty());
  }
}

TEST_F(JobTest, AJobThatFailsAltogetherFailsForThatReasonAndNoDatasetsOwn) {
  cluster_.add_dataset("both", "f{seq}", frame_files(4));
  cluster_.add_dataset("some", "f{seq}", frame_files(4));
  cluster_.add_node();
  cluster_.add_node();
  cluster_.mutable_table(0)->datasets[1].removed = 1;
  fail_to_adopt_ = 1;
  expected_ = {FilterMode::kRequire, FilterMode::kOn};
  for (const RankResult& result : run({0, 1})) {
    EXPECT_FALSE(result.agreement.filtered);
    EXPECT_TRUE(result.agreement.left_out.empty());
    EXPECT_NE(result.agreement.reason, "");
    EXPECT_EQ(result.agreement.expected, FilterMode::kRequire);
  }
}

TEST_F(JobTest, TheStrictestNodeSaysWhetherADatasetMustBeDivided) {
  const auto& gone = cluster_.add_dataset("gone", "f{seq}", {});
  std::filesystem::remove(gone.path);
  cluster_.add_node();
  cluster_.add_node();
  cluster_.mutable_table(1)->datasets[0].filter = FilterMode::kRequire;
  for (const RankResult& result : run({0, 1})) {
    ASSERT_EQ(result.agreement.left_out.size(), 1U);
    EXPECT_EQ(result.agreement.left_out[0].filter, FilterMode::kRequire);
  }
}

TEST_F(JobTest, MoreUnknownDatasetsThanAMessageHoldsAreAllLeftOut) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  for (std::size_t i = 0; i < kMaxDatasets + 50; ++i)
    only_.push_back("/nowhere/" + std::to_string(i));
  for (const RankResult& result : run({0, 0}))
    EXPECT_EQ(result.agreement.left_out.size(), only_.size());
}

TEST_F(JobTest, OneRankWithTheFilterOffMeansNobodyIsFiltered) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  off_ = 2;
  std::vector<RankResult> results = run({0, 0, 0});
  expect_nobody_filtered(results);
  EXPECT_EQ(results[0].agreement.reason, "ZAZEN_FILTER=off on rank 2");
  EXPECT_TRUE(cluster_.view_directories().empty());
}

TEST_F(JobTest, OneRankThatCannotAdoptItsViewMeansNobodyIsFilteredAndNothingIsLeft) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  fail_to_adopt_ = 1;
  std::vector<RankResult> results = run({0, 0, kNoNode});
  expect_nobody_filtered(results);
  EXPECT_TRUE(results[0].agreement.reason.starts_with("rank 1: "));
  EXPECT_TRUE(results[0].shim.dropped);
  EXPECT_FALSE(results[1].shim.dropped);
  EXPECT_TRUE(results[2].shim.dropped);
  EXPECT_TRUE(cluster_.view_directories().empty());
}

TEST_F(JobTest, AViewThatCannotBeWrittenMeansNobodyIsFiltered) {
  cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  std::filesystem::remove(cluster_.temporary());
  std::vector<RankResult> results = run({0, kNoNode});
  expect_nobody_filtered(results);
  EXPECT_TRUE(results[0].agreement.reason.starts_with("rank 1: "));
  std::filesystem::create_directory(cluster_.temporary());
  EXPECT_TRUE(cluster_.view_directories().empty());
}

TEST_F(JobTest, AMissingDirectoryIsLeftOutAndTheOthersGoOn) {
  const auto& gone = cluster_.add_dataset("gone", "f{seq}", {});
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(2));
  std::filesystem::remove(gone.path);
  cluster_.add_node();
  std::vector<RankResult> results = run({0, 0});
  ASSERT_TRUE(results[0].agreement.filtered);
  EXPECT_EQ(results[0].own.size(), 1U);
  EXPECT_EQ(results[1].own.at(sim.path), std::vector<FrameSeq>{1});
  ASSERT_EQ(results[0].agreement.left_out.size(), 1U);
  EXPECT_EQ(results[0].agreement.left_out[0].path, gone.path);
  EXPECT_EQ(results[0].agreement.left_out[0].why, "No such file or directory");
}

TEST_F(JobTest, OnlyMissingDirectoriesMeanNobodyIsFiltered) {
  const auto& gone = cluster_.add_dataset("gone", "f{seq}", {});
  std::filesystem::remove(gone.path);
  cluster_.add_node();
  std::vector<RankResult> results = run({0, 0});
  expect_nobody_filtered(results);
  EXPECT_EQ(results[0].agreement.reason, gone.path + ": No such file or directory");
}

TEST_F(JobTest, AnEmptyDirectoryGivesEmptyViews) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", {});
  cluster_.add_node();
  std::vector<RankResult> results = run({0, kNoNode});
  ASSERT_TRUE(results[0].agreement.filtered);
  EXPECT_TRUE(results[0].own.at(sim.path).empty());
  EXPECT_TRUE(results[1].own.at(sim.path).empty());
}

TEST_F(JobTest, DatasetsAreRestrictedByTheEnvironmentAndTheTable) {
  const auto& a = cluster_.add_dataset("a", "f{seq}", frame_files(2));
  const auto& b = cluster_.add_dataset("b", "f{seq}", frame_files(2));
  cluster_.add_dataset("c", "f{seq}", frame_files(2));
  cluster_.add_node();
  cluster_.mutable_table(0)->datasets[0].filter = FilterMode::kOff;
  only_ = {a.path, b.path};
  std::vector<RankResult> results = run({0, 0});
  ASSERT_TRUE(results[0].agreement.filtered);
  ASSERT_EQ(results[0].own.size(), 1U);
  EXPECT_EQ(results[0].own.begin()->first, b.path);
  only_ = {"/elsewhere"};
  expect_nobody_filtered(run({0, 0}));
}

TEST_F(JobTest, FramesInASubdirectoryAndAsDirectories) {
  const auto& sub = cluster_.add_dataset("sub", "run 1/frame-{seq:06}.xtc", {});
  const auto& dirs = cluster_.add_dataset("dirs", "{seq}/traj.dcd", {});
  std::filesystem::create_directories(sub.path + "/run 1");
  for (const char* name : {"/run 1/frame-000007.xtc", "/run 1/frame-4294967301.xtc"})
    std::fclose(std::fopen((sub.path + name).c_str(), "w"));
  for (const char* name : {"/3", "/12"}) std::filesystem::create_directories(dirs.path + name);
  cluster_.add_node();
  std::vector<RankResult> results = run({0, 0});
  ASSERT_TRUE(results[0].agreement.filtered) << results[0].agreement.reason;
  EXPECT_EQ(results[0].own.at(sub.path), std::vector<FrameSeq>{7});
  EXPECT_EQ(results[1].own.at(sub.path), std::vector<FrameSeq>{4294967301});
  EXPECT_EQ(results[0].own.at(dirs.path), std::vector<FrameSeq>{3});
  EXPECT_EQ(results[1].own.at(dirs.path), std::vector<FrameSeq>{12});
}

TEST_F(JobTest, TheSelectionOfRankZeroIsTheDomain) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(20));
  cluster_.add_node();
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 3, 6, 9, 12}, {});
  cluster_.hold(1, sim, {15}, {4, 18});
  selections_ = {{3, 18, 3}, {0, 1, 1}};
  std::vector<RankResult> results = run({0, 1});
  ASSERT_TRUE(results[0].agreement.filtered) << results[0].agreement.reason;
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{3, 6, 9, 12}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{15, 18}));
  EXPECT_EQ(results[1].agreement.datasets[0].domain_count, 6U);
  selections_ = {{100, {}, 1}};
  results = run({0, 1});
  ASSERT_TRUE(results[0].agreement.filtered);
  EXPECT_TRUE(results[0].own.at(sim.path).empty());
}

// The kept listing differs from the directory, which shows which of them was believed.
TEST_F(JobTest, AListingThatSomeNodeKeepsIsUsedInsteadOfTheOrigin) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(2));
  cluster_.add_node();
  cluster_.add_node();
  FrameName name;
  const char* why = nullptr;
  ASSERT_TRUE(FrameName::parse("f{seq}", 6, &name, &why));
  Result<Listing> listing = list_directory(sim.path, name);
  ASSERT_TRUE(listing.ok());
  listing->frames.push_back(77);
  listing->inodes.push_back(7700);
  listing->taken_at_ns =
      std::max(listing->directory.mtime_ns, listing->directory.ctime_ns) + 3'000'000'000;
  cluster_.keep_listing(1, sim, *listing);
  auto shown_by_all = [&sim](const std::vector<RankResult>& all) {
    std::multiset<FrameSeq> shown;
    for (const RankResult& result : all)
      shown.insert(result.own.at(sim.path).begin(), result.own.at(sim.path).end());
    return shown;
  };
  std::vector<RankResult> results = run({0, 1, kNoNode});
  EXPECT_EQ(shown_by_all(results), (std::multiset<FrameSeq>{0, 1, 77}));

  // Of two that differ, all take the same one.
  listing->frames.back() = 78;
  cluster_.keep_listing(0, sim, *listing);
  results = run({0, 1, 0, 1});
  for (const RankResult& result : results)
    EXPECT_EQ(result.agreement.datasets[0].domain_count, 3U);
  const std::multiset<FrameSeq> shown = shown_by_all(results);
  const bool first = shown.contains(77);
  EXPECT_EQ(shown, (std::multiset<FrameSeq>{0, 1, first ? 77U : 78U}));

  // A change of the directory makes the kept listing worthless.
  std::fclose(std::fopen((sim.path + "/f5").c_str(), "w"));
  results = run({0, 1, kNoNode});
  EXPECT_EQ(shown_by_all(results), (std::multiset<FrameSeq>{0, 1, 5}));
}

// Only the leader looks; the others must not go by what it refuses.
TEST_F(JobTest, AKeptListingThatIsDamagedIsUsedByNobody) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(2));
  cluster_.add_node();
  FrameName name;
  const char* why = nullptr;
  ASSERT_TRUE(FrameName::parse("f{seq}", 6, &name, &why));
  Result<Listing> listing = list_directory(sim.path, name);
  ASSERT_TRUE(listing.ok());
  listing->frames.push_back(77);
  listing->inodes.push_back(7700);
  listing->taken_at_ns =
      std::max(listing->directory.mtime_ns, listing->directory.ctime_ns) + 3'000'000'000;
  cluster_.keep_listing(0, sim, *listing);
  EXPECT_EQ(run({0, 0})[0].agreement.datasets[0].domain_count, 3U);

  const std::string path = cluster_.cache(0) + sim.path + '/' + kListingFile;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(88 + 2 * 24 + 1);  // among the inode numbers
  file.put('\x5a');
  file.close();
  std::vector<RankResult> results = run({0, 0});
  for (const RankResult& result : results) {
    ASSERT_TRUE(result.agreement.filtered) << result.agreement.reason;
    EXPECT_EQ(result.agreement.datasets[0].domain_count, 2U);
  }
}

TEST_F(JobTest, ALogThatIsDamagedCountsAsEmpty) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(4));
  cluster_.add_node();
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 1, 2, 3}, {});
  std::filesystem::resize_file(cluster_.cache(0) + sim.path + '/' + kNativeLog, 7);
  std::vector<RankResult> results = run({0, 1});
  EXPECT_EQ(results[0].own.at(sim.path), (std::vector<FrameSeq>{0, 1}));
  EXPECT_EQ(results[1].own.at(sim.path), (std::vector<FrameSeq>{2, 3}));
}

// A small world, exhaustively: 2 to 4 ranks, both algorithms, and each rank in turn loses the
// result of each of its calls in turn. A rank that waited for ever would be ended by the alarm.
TEST_F(JobTest, WhereverOneRankFailsNobodyIsFilteredAndNobodyWaits) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(9));
  for (std::size_t n = 0; n < 3; ++n) cluster_.add_node();
  cluster_.hold(0, sim, {0, 1, 2}, {3});
  cluster_.hold(1, sim, {1, 4}, {3, 5});
  cluster_.hold(2, sim, {}, {5, 6});
  ::alarm(600);
  int failures = 0;
  for (const std::vector<std::size_t>& places :
       {std::vector<std::size_t>{0, 1}, {0, 1, 0}, {0, 1, kNoNode, 0}, {2, 0, 1, 1}})
    for (bool paper : {false, true}) {
      paper_.assign(places.size(), paper);
      expected_.assign(places.size(), FilterMode::kRequire);
      losing_rank_ = -1;
      const std::vector<RankResult> whole = run(places);
      ASSERT_TRUE(whole[0].agreement.filtered) << whole[0].agreement.reason;
      for (std::size_t rank = 0; rank < places.size(); ++rank)
        for (int call = 0; call < whole[rank].calls; ++call, ++failures) {
          losing_rank_ = static_cast<int>(rank);
          lost_call_ = call;
          const std::vector<RankResult> results = run(places);
          expect_nobody_filtered(results);
          EXPECT_TRUE(results[0].agreement.reason.starts_with("rank "));
          for (const RankResult& result : results) {  // each knows that the job must end
            EXPECT_EQ(result.agreement.expected, FilterMode::kRequire);
            EXPECT_EQ(result.agreement.expected_paths, "/sim1");
          }
          ASSERT_FALSE(HasFailure()) << "rank " << rank << " call " << call;
        }
    }
  ::alarm(0);
  EXPECT_GT(failures, 100);
}

TEST_F(JobTest, RandomCachesAndGroupsGiveEveryFrameToExactlyOneRank) {
  constexpr std::size_t kFrames = 37, kNodes = 3;
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", frame_files(kFrames));
  for (std::size_t n = 0; n < kNodes; ++n) cluster_.add_node();
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const unsigned native_rate = random() % 6, alien_rate = random() % 6;
    for (std::size_t n = 0; n < kNodes; ++n) {
      std::vector<FrameSeq> natives, aliens;
      for (FrameSeq f = 0; f < kFrames + 5; ++f) {
        if (random() % 10 < native_rate) natives.push_back(f);
        if (random() % 10 < alien_rate) aliens.push_back(f);
      }
      std::filesystem::remove_all(cluster_.cache(n) + sim.path);
      cluster_.hold(n, sim, natives, aliens);
    }
    std::vector<std::size_t> places(1 + random() % 7, 0);
    for (std::size_t& place : places)
      place = random() % (kNodes + 1) == 0 ? kNoNode : random() % kNodes;
    places[random() % places.size()] = random() % kNodes;
    paper_.assign(places.size(), round % 2 == 1);
    std::vector<int> readers(kFrames);
    for (const RankResult& result : run(places)) {
      ASSERT_TRUE(result.agreement.filtered) << result.agreement.reason;
      for (FrameSeq f : result.own.at(sim.path)) ++readers[f];
    }
    ASSERT_EQ(readers, std::vector<int>(kFrames, 1)) << "round " << round;
  }
}

}  // namespace
}  // namespace zazen
