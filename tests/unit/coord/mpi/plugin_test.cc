// An MPI plug-in under a real mpirun, with plugin_host in the shim's place. The test
// reads the outcome from the report that rank 0 writes, and from the output of the job.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cluster_on_disk.h"

namespace zazen {
namespace {

constexpr std::size_t kFrames = 100;

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    std::vector<std::string> files;
    for (std::size_t i = 0; i < kFrames; ++i) files.push_back("f" + std::to_string(i));
    const DatasetOnDisk& sim = cluster_.add_dataset("sim 1", "f{seq}", files);
    // 0 to 39 native on one node, 40 to 79 alien on the other, the rest nowhere.
    std::vector<FrameSeq> natives, aliens;
    for (FrameSeq f = 0; f < 80; ++f) (f < 40 ? natives : aliens).push_back(f);
    cluster_.add_node();
    cluster_.add_node();
    cluster_.hold(0, sim, natives, {});
    cluster_.hold(1, sim, {}, aliens);
  }

  // Runs the case; the job must end with this status, and in time.
  void run(const std::string& what, const std::string& environment = "",
           const std::string& launcher = MPIRUN " -n 4", int expected = 0) {
    const std::string report = cluster_.temporary() + "/report.json";
    const std::string runtime = cluster_.runtime(0), cache = cluster_.cache(0);
    const std::string command =
        "ZAZEN_REPORT='" + report + "' TMPDIR=/tmp ZAZEN_LOG=info " + environment +
        " timeout 120 " + launcher + " " PLUGIN_HOST " " PLUGIN_PATH " " + what + " '" +
        cluster_.datasets()[0].path + "' '" + runtime.substr(0, runtime.size() - 1) + "' '" +
        cache.substr(0, cache.size() - 1) + "' 2>&1 </dev/null";
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    output_.clear();
    for (int c; (c = std::fgetc(pipe)) != EOF;) output_ += static_cast<char>(c);
    const int status = ::pclose(pipe);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == expected) << output_;
    report_ = nlohmann::json::parse(std::ifstream(report));
  }

  bool printed(const std::string& text) const {
    return output_.find(text) != std::string::npos;
  }

  ClusterOnDisk cluster_;
  std::string output_;
  nlohmann::json report_;
};

TEST_F(PluginTest, FourRanksOnTwoNodesReadEachFrameOnce) {
  run("own");
  EXPECT_EQ(report_["filtered"], true) << output_;
  EXPECT_EQ(report_["complete"], true);
  EXPECT_EQ(report_["exactly_once"], true);
  EXPECT_EQ(report_["frames_listed"], kFrames);
  EXPECT_EQ(report_["frames_read"], kFrames);
  EXPECT_EQ(report_["frames_arrived_later"], 0);
  EXPECT_EQ(report_["nodes"], 2);
  EXPECT_EQ(report_["ranks"], 4);
  EXPECT_EQ(report_["hits"], kFrames);
  for (const auto& rank : report_["per_rank"]) {
    EXPECT_EQ(rank["assigned"], 25);
    EXPECT_EQ(rank["read"], 25);
    EXPECT_EQ(rank["node"], rank["rank"].get<int>() % 2 == 0 ? "n0" : "n1");
  }
  EXPECT_TRUE(printed("zazen: 4 ranks on 2 nodes: 100 frames of ")) << output_;
  EXPECT_TRUE(printed("  own node 80.0%   adopted 20.0%   each frame to exactly one rank"));
  EXPECT_TRUE(printed("zazen: read 100 of 100 frames, each once; 100.0% local"));
  EXPECT_FALSE(printed("not read by any rank"));
}

TEST_F(PluginTest, AProgramThatDividesItsListIsToldWhatItLost) {
  run("slice", "ZAZEN_LOG=off", MPIRUN " -n 4", 120);
  EXPECT_EQ(report_["exactly_once"], false);
  EXPECT_EQ(report_["frames_never_read"], 75);
  EXPECT_TRUE(printed("zazen: 75 of 100 frames of " + cluster_.datasets()[0].path +
                      " were not read by any rank.\nzazen: each rank's listing showed"))
      << output_;
  EXPECT_FALSE(printed("4 ranks on 2 nodes"));
}

TEST_F(PluginTest, FramesThatSeveralRanksOpenAreCounted) {
  run("twice");
  EXPECT_EQ(report_["frames_read_twice"], 1) << output_;
  EXPECT_EQ(report_["exactly_once"], false);
}

TEST_F(PluginTest, FramesThatArriveLaterAreCounted) {
  run("later");
  EXPECT_EQ(report_["frames_arrived_later"], 1) << output_;
  EXPECT_EQ(report_["exactly_once"], true);
}

TEST_F(PluginTest, ARankWithoutThePluginMeansNobodyIsFilteredAndNobodyHangs) {
  run("bare");
  EXPECT_EQ(report_["filtered"], false) << output_;
  EXPECT_EQ(report_["complete"], false);
  EXPECT_EQ(report_["exactly_once"], false);
  EXPECT_EQ(report_["ranks"], 4);
  EXPECT_EQ(report_["frames_read"], 25);
  EXPECT_EQ(
      report_["reason"],
      "not every rank proved that it runs under Zazen: rank 2 did not, or has another version");
}

TEST_F(PluginTest, ARankThatLeavesWithoutAWordIsReportedMissing) {
  run("silent");
  EXPECT_EQ(report_["filtered"], true) << output_;
  EXPECT_EQ(report_["complete"], false);
  EXPECT_EQ(report_["exactly_once"], false);
  EXPECT_EQ(report_["per_rank"][3]["reported"], false);
  EXPECT_EQ(report_["per_rank"][2]["reported"], true);
  EXPECT_FALSE(printed("not read by any rank"));
}

TEST_F(PluginTest, ARankThatCannotAdoptItsViewMeansNobodyIsFiltered) {
  run("unadopted");
  EXPECT_EQ(report_["filtered"], false) << output_;
  EXPECT_EQ(report_["exactly_once"], true);
  EXPECT_EQ(report_["reason"].get<std::string>().rfind("rank 1: ", 0), 0U);
  EXPECT_TRUE(printed("zazen: not filtered: rank 1: "));
}

TEST_F(PluginTest, WithTheFilterOffTheLedgersOfAllRanksMakeTheReport) {
  run("own", "ZAZEN_FILTER=off");
  EXPECT_EQ(report_["filtered"], false) << output_;
  EXPECT_EQ(report_["complete"], true);
  EXPECT_EQ(report_["exactly_once"], true);
  EXPECT_EQ(report_["frames_listed"], kFrames);
  EXPECT_EQ(report_["reason"], "ZAZEN_FILTER=off");
  EXPECT_EQ(report_["per_rank"][3]["read"], 25);
}

TEST_F(PluginTest, OneRankUnderMpirunIsFiltered) {
  run("own", "", MPIRUN " -n 1");
  EXPECT_EQ(report_["filtered"], true) << output_;
  EXPECT_EQ(report_["exactly_once"], true);
  EXPECT_EQ(report_["frames_read"], kFrames);
  EXPECT_TRUE(printed("zazen: 1 rank on 1 node: 100 frames of "));
}

TEST_F(PluginTest, ASingleProcessWithoutALauncherIsNotFiltered) {
  run("own", "", "");
  EXPECT_EQ(report_["filtered"], false) << output_;
  EXPECT_EQ(report_["complete"], true);
  EXPECT_EQ(report_["nodes"], 1);
  EXPECT_EQ(report_["reason"], "a single process without a launcher");
}

}  // namespace
}  // namespace zazen
