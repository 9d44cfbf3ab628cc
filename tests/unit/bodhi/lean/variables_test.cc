#include "bodhi/lean/system/variables.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bodhi/lean/run/filter_wish.h"
#include "bodhi/lean/system/launcher.h"

namespace zazen {
namespace {

using Environment = std::map<std::string, std::string>;

// "NAME=VALUE: ACCEPTED" for each that is wrong.
std::vector<std::string> complaints(const Environment& environment) {
  std::vector<std::string> found;
  check_variables(
      [&](const char* name) {
        auto at = environment.find(name);
        return at == environment.end() ? nullptr : at->second.c_str();
      },
      [&](const KnownVariable& variable, const char* value, const char* accepted) {
        found.push_back(std::string(variable.name) + "=" + value + ": " + accepted);
      });
  return found;
}

TEST(Variables, GoodValuesAreAccepted) {
  for (const char* value : {"on", "off", "require", ""})
    EXPECT_TRUE(complaints({{"ZAZEN_FILTER", value}}).empty()) << value;
  for (const char* value : {"off", "warn", "info", "debug", ""})
    EXPECT_TRUE(complaints({{"ZAZEN_LOG", value}}).empty()) << value;
  EXPECT_TRUE(complaints({{"ZAZEN_DISABLE", "0"}, {"ZAZEN_PROTOCOL", "paper"}}).empty());
  EXPECT_TRUE(
      complaints({{"ZAZEN_BEGIN", "0"}, {"ZAZEN_END", "0"}, {"ZAZEN_STRIDE", "1"}}).empty());
  EXPECT_TRUE(complaints({{"ZAZEN_END", "18446744073709551615"}}).empty());
  EXPECT_TRUE(complaints({{"ZAZEN_REPORT", "any text"}, {"ZAZEN_OTHER", "any"}}).empty());
}

TEST(Variables, OtherValuesAreNamedWithWhatIsAccepted) {
  using Lines = std::vector<std::string>;
  for (std::string value : {"no", "0", "OFF", "banana", "o", "on|off", "required", " on"})
    EXPECT_EQ(complaints({{"ZAZEN_FILTER", value}}),
              Lines{"ZAZEN_FILTER=" + value + ": on, off or require"});
  EXPECT_EQ(complaints({{"ZAZEN_PROTOCOL", "peper"}}),
            Lines{"ZAZEN_PROTOCOL=peper: exchange or paper"});
  EXPECT_EQ(complaints({{"ZAZEN_LOG", "loud"}}),
            Lines{"ZAZEN_LOG=loud: off, warn, info or debug"});
  EXPECT_EQ(complaints({{"ZAZEN_DISABLE", "maybe"}}), Lines{"ZAZEN_DISABLE=maybe: 0 or 1"});
  for (std::string value : {"ten", "-1", "1.5", "1 ", "0x1", "18446744073709551616"})
    EXPECT_EQ(complaints({{"ZAZEN_BEGIN", value}}),
              Lines{"ZAZEN_BEGIN=" + value + ": a whole number"});
  EXPECT_EQ(complaints({{"ZAZEN_STRIDE", "0"}}),
            Lines{"ZAZEN_STRIDE=0: a whole number from 1 on"});
  EXPECT_EQ(complaints({{"ZAZEN_BEGIN", "9"}, {"ZAZEN_END", "8"}}),
            Lines{"ZAZEN_END=8: ZAZEN_BEGIN or more"});
  EXPECT_EQ(complaints({{"ZAZEN_FILTER", "no"}, {"ZAZEN_LOG", "yes"}}).size(), 2u);
}

TEST(Variables, EveryListOfChoicesFits) {
  for (const KnownVariable& variable : kVariables) {
    EXPECT_LT(std::string(accepted_values(variable).text).size(), sizeof(AcceptedValues));
    EXPECT_EQ(std::string(variable.name).rfind("ZAZEN_", 0), 0u);
  }
}

LauncherPlace place(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return launcher_place(environment.data());
}

TEST(Launcher, SaysWhichRankOfHowMany) {
  EXPECT_EQ(place({}).rank, -1);
  EXPECT_FALSE(place({}).is_one_of_several());
  EXPECT_TRUE(place({"HOME=/", "PATH="}).speaks());

  LauncherPlace open_mpi = place({"SLURM_PROCID=7", "SLURM_STEP_NUM_TASKS=8", "PMIX_RANK=2",
                                  "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=2",
                                  "SLURM_LOCALID=0", "OMPI_COMM_WORLD_LOCAL_RANK=1"});
  EXPECT_EQ(open_mpi.rank, 2);
  EXPECT_EQ(open_mpi.local_rank, 1);
  EXPECT_EQ(open_mpi.size, 4);
  EXPECT_FALSE(open_mpi.speaks());

  LauncherPlace hydra = place({"PMI_RANK=0", "PMI_SIZE=3", "MPI_LOCALRANKID=0"});
  EXPECT_EQ(hydra.local_rank, 0);
  EXPECT_TRUE(hydra.speaks());
  EXPECT_TRUE(hydra.is_one_of_several());

  LauncherPlace srun = place({"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2"});
  EXPECT_EQ(srun.rank, 1);
  EXPECT_EQ(srun.size, 2);
  EXPECT_EQ(srun.local_rank, -1);
}

TEST(Launcher, ABatchScriptIsOneProcess) {
  LauncherPlace script = place({"SLURM_NTASKS=8", "SLURM_PROCID=0"});
  EXPECT_TRUE(script.speaks());
  EXPECT_FALSE(script.is_one_of_several());
}

TEST(Launcher, WhatIsNoNumberSaysNothing) {
  LauncherPlace odd = place({"PMI_RANK=x", "PMI_SIZE=", "OMPI_COMM_WORLD_SIZE"});
  EXPECT_EQ(odd.rank, -1);
  EXPECT_EQ(odd.size, -1);
}

TEST(FilterWish, TheKeyDecidesUnlessTheJobDoes) {
  using enum FilterWish;
  auto filter = [](FilterWish wish, Named named, FilterMode key) {
    return wanted_filter(wish, named, key);
  };
  for (FilterMode key : {FilterMode::kOff, FilterMode::kOn, FilterMode::kRequire}) {
    EXPECT_EQ(filter(kAuto, Named::kNobody, key), key);
    EXPECT_EQ(filter(kOn, Named::kThisOne, key), key);
    EXPECT_EQ(filter(kOff, Named::kThisOne, key), FilterMode::kOff);
    EXPECT_EQ(filter(kRequire, Named::kOthers, key), FilterMode::kOff);
    EXPECT_EQ(filter(kRequire, Named::kThisOne, key), FilterMode::kRequire);
  }
  EXPECT_EQ(filter(kRequire, Named::kNobody, FilterMode::kOff), FilterMode::kOff);
  EXPECT_EQ(filter(kRequire, Named::kNobody, FilterMode::kOn), FilterMode::kRequire);
  EXPECT_EQ(filter_wish("require"), kRequire);
  EXPECT_EQ(filter_wish("banana"), kAuto);
  EXPECT_EQ(filter_wish(nullptr), kAuto);
}

}  // namespace
}  // namespace zazen
