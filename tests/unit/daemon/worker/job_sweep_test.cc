// The directories of dead jobs go, those of living ones stay.
#include "daemon/worker/job_sweep.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/run/run_record.h"
#include "daemon/origin/user_directories.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class JobSweepTest : public Scratch {
 protected:
  std::string reports() const { return runtime() + "-reports"; }

  std::string make_job(const std::string& name, pid_t owner) {
    View view = {};
    view.magic = kViewMagic;
    view.version = kViewVersion;
    view.owner_pid = owner;
    std::string job = runtime() + "/" + name;
    write_file(job + "/view", std::string(reinterpret_cast<const char*>(&view), sizeof view));
    write_file(job + "/tally", "");
    return job;
  }
};

// A user may mount a file system there whose server never answers.
TEST_F(JobSweepTest, NobodyLooksIntoMountPoints) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  make_job("job", ::getpid());
  write_file(runtime() + "/mounted/x", "");
  ASSERT_EQ(::symlink("/", (runtime() + "/link").c_str()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_mounted =
        ::unshare(CLONE_NEWNS) == 0 &&
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("none", (runtime() + "/mounted").c_str(), "tmpfs", 0, "uid=12345") == 0;
    const auto owners = owners_of_entries(runtime());
    ::_exit(is_mounted && owners.size() == 1 && owners.begin()->first == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(JobSweepTest, DeadOwnersDirectoryGoes) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  std::string dead = make_job("dead", child);
  std::string alive = make_job("alive", ::getpid());
  EXPECT_EQ(sweep_jobs(runtime(), reports()), 1);
  EXPECT_FALSE(exists(dead));
  EXPECT_TRUE(exists(alive + "/view"));
}

TEST_F(JobSweepTest, AZombiesDirectoryGoes) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended;
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  std::string dead = make_job("dead", child);
  EXPECT_EQ(sweep_jobs(runtime(), reports()), 1);
  EXPECT_FALSE(exists(dead));
  ::waitpid(child, nullptr, 0);
}

TEST_F(JobSweepTest, DirectoryWithoutAViewGoesWhenItIsOld) {
  std::string young = runtime() + "/young";
  std::string old = runtime() + "/old";
  write_file(young + "/tally", "");
  write_file(old + "/view", "no view");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  EXPECT_EQ(sweep_jobs(runtime(), reports()), 1);
  EXPECT_TRUE(exists(young));
  EXPECT_FALSE(exists(old));
}

TEST_F(JobSweepTest, WhatADeadRankDidIsKeptWhereThereIsAPlaceForIt) {
  ASSERT_EQ(::mkdir(reports().c_str(), 0700), 0);
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  std::string dead = make_job("dead", child);
  EXPECT_EQ(sweep_jobs(runtime(), reports()), 1);
  EXPECT_FALSE(exists(dead));
  EXPECT_TRUE(exists(reports() + "/dead/view"));
  EXPECT_TRUE(exists(reports() + "/dead/tally"));
}

TEST_F(JobSweepTest, RecordsOfRunsAreKeptAndCountedByWhatTheyHold) {
  ASSERT_EQ(::mkdir(reports().c_str(), 0700), 0);
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  auto make_run = [&](const char* name, pid_t owner) {
    struct {
      std::uint64_t magic = kRunMagic;
      std::uint32_t version = kRunVersion;
      std::int32_t owner_pid = 0;
    } run;
    run.owner_pid = owner;
    const std::string file = runtime() + "/" + name + "/run";
    write_file(file, std::string(reinterpret_cast<const char*>(&run), sizeof run));
    ASSERT_EQ(::truncate(file.c_str(), sizeof(RunRecord)), 0);
  };
  make_run("dead", child);
  make_run("alive", ::getpid());
  EXPECT_EQ(sweep_jobs(runtime(), reports()), 1);
  EXPECT_TRUE(exists(runtime() + "/alive/run"));
  EXPECT_TRUE(exists(reports() + "/dead/run"));
  ASSERT_EQ(::rename((runtime() + "/alive").c_str(), (reports() + "/alive").c_str()), 0);
  ReportLimits limits;
  limits.bytes = sizeof(RunRecord);
  EXPECT_EQ(prune_reports(reports(), limits), 0) << "they are sparse";
  limits.ranks = 1;
  EXPECT_EQ(prune_reports(reports(), limits), 1);
}

TEST_F(JobSweepTest, ReportsAreBounded) {
  for (const char* name : {"first", "second", "third"}) {
    write_file(reports() + "/" + name + "/view", std::string(1'000, 'x'));
  }
  ReportLimits limits;
  EXPECT_EQ(prune_reports(reports(), limits), 0);
  limits.ranks = 2;
  EXPECT_EQ(prune_reports(reports(), limits), 1);
  limits.bytes = 1'500;
  EXPECT_EQ(prune_reports(reports(), limits), 1);
  limits.age_seconds = -1;
  EXPECT_EQ(prune_reports(reports(), limits), 1);
  EXPECT_EQ(prune_reports(reports(), limits), 0);
}

TEST_F(JobSweepTest, OneLargeReportDoesNotCostTheOthers) {
  auto add = [this](const char* name, std::size_t bytes) {
    write_file(reports() + "/" + name + "/view", std::string(bytes, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(1'100));  // their order: in seconds
  };
  add("small", 100);
  add("large", 2'000);
  ReportLimits limits;
  limits.bytes = 1'000;
  EXPECT_EQ(prune_reports(reports(), limits), 0) << "the newest stays";
  add("newest", 100);
  EXPECT_EQ(prune_reports(reports(), limits), 1);
  EXPECT_TRUE(exists(reports() + "/small/view"));
  EXPECT_FALSE(exists(reports() + "/large"));
}

TEST_F(JobSweepTest, NobodysReportsPushOutAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  auto add = [this](const std::string& name, uid_t uid) {
    std::string directory = reports() + "/" + name;
    write_file(directory + "/view", std::string(1'000, 'x'));
    ASSERT_EQ(::chown(directory.c_str(), uid, uid), 0);
  };
  for (int i = 0; i < 2; ++i) add("first" + std::to_string(i), 70'001);
  for (int i = 0; i < 20; ++i) add("second" + std::to_string(i), 70'002);
  for (const std::string& path : {directory(), runtime(), reports()}) {
    ASSERT_EQ(::chmod(path.c_str(), 01777), 0);
  }
  auto prune_as = [this](uid_t uid, const ReportLimits& limits) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(uid, uid, uid) != 0) ::_exit(255);
      ::_exit(prune_reports(reports(), limits));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  ReportLimits limits;
  limits.ranks = 10;
  EXPECT_EQ(prune_as(70'002, limits), 15) << "half of the limit is another's";
  EXPECT_EQ(prune_as(70'001, limits), 0);
  limits.bytes = 5'000;
  EXPECT_EQ(prune_as(70'002, limits), 3);
  EXPECT_EQ(prune_as(70'001, limits), 0);
  EXPECT_EQ(prune_reports(reports(), limits), 0) << "root has none";
  EXPECT_TRUE(exists(reports() + "/first0/view") && exists(reports() + "/first1/view"));
}

TEST_F(JobSweepTest, WhatIsNoReportGoes) {
  write_file(reports() + "/file", "x");
  ASSERT_EQ(::symlink(origin().c_str(), (reports() + "/link").c_str()), 0);
  EXPECT_EQ(prune_reports(reports()), 0);
  EXPECT_FALSE(exists(reports() + "/file") || exists(reports() + "/link"));
  EXPECT_TRUE(exists(origin()));
}

TEST_F(JobSweepTest, MissingDirectoryIsNoError) {
  EXPECT_EQ(sweep_jobs(runtime() + "/none", reports()), 0);
}

}  // namespace
}  // namespace zazen
