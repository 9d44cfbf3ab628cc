// Runs a workload on a recorded store. Then it opens the store on the states that a crash could
// have left at each moment: the process died, or the power failed. Sometimes a second crash
// comes while the store recovers. Everything that clients were told has to hold in each.
//
//   crash_states SCRATCH [STATES_PER_MOMENT [FIRST_SEED [SEEDS]]]
//
// Odd seeds use named temporaries, as on a file system without O_TMPFILE. From 1000 on frames
// are opened for writing, too.
#include <fmt/format.h>
#include <signal.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "daemon/process/log.h"
#include "tests/fault/crash_model.h"
#include "tests/fault/recovered_store.h"
#include "tests/fault/store_workload.h"

namespace zazen {
namespace {

constexpr std::size_t kSteps = 40, kReportedFailures = 3, kRecordedOfRecoveries = 60;
constexpr std::uint64_t kFirstThatOpens = 1000;
constexpr std::uint64_t kMaxFiles = 16;  // of 24 frames

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent) {
    std::string pattern = parent + "/zazen-crash-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name = "") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Memory is much quicker, where it keeps user attributes (Linux 6.6).
std::string quick_parent(const std::string& otherwise) {
  try {
    ScratchDirectory trial("/dev/shm");
    std::ofstream(trial.path("file")).put('x');
    if (::setxattr(trial.path("file").c_str(), "user.zazen", "x", 1, 0) == 0) return "/dev/shm";
  } catch (const std::exception&) {
  }
  return otherwise;
}

class Trial {
 public:
  Trial(const std::string& parent, std::uint64_t seed)
      : scratch_(parent),
        seed_(seed),
        random_(seed),
        temporaries_(seed % 2 == 0 ? CacheDisk::Temporaries::kUnnamedIfPossible
                                   : CacheDisk::Temporaries::kNamed),
        origin_(scratch_.path("origin"), random_) {
    config_.node = "n0";
    config_.max_files = kMaxFiles;
    config_.datasets = origin_.datasets();
    use("life");
  }

  std::size_t states() const { return states_; }
  std::size_t failures() const { return failures_; }

  void run(std::size_t states_per_moment) {
    disk_recorder::begin(config_.cache);
    StoreWorkload workload(config_, origin_, random_, temporaries_, seed_ >= kFirstThatOpens);
    workload.run(kSteps);
    FileTree on_disk = read_tree(config_.cache);
    disk_recorder::Record record = disk_recorder::end();
    CrashModel model(record);
    check_record(record, on_disk, model);

    disk_recorder::skip_flushes(true);
    Promises promises;
    for (std::size_t moment = 0; moment <= model.changes(); ++moment) {
      if (moment > 0 && model.change(moment - 1).type == DiskChange::Type::kWord) {
        promises.hear(model.change(moment - 1).word);
      }
      check("the process died", moment, model, model.process_died(moment), promises);
      if (model.unflushed(moment) == 0) continue;
      check("the power went, all lost", moment, model, model.power_lost(moment), promises);
      for (std::size_t i = 0; i < states_per_moment; ++i) {
        check("the power went", moment, model, model.power_lost(moment, random_), promises);
      }
    }
    disk_recorder::skip_flushes(false);
  }

 private:
  void use(const std::string& name) {
    config_.cache = scratch_.path(name + "/cache");
    config_.runtime = scratch_.path(name + "/run");
    std::filesystem::create_directories(config_.cache);
    std::filesystem::create_directories(config_.runtime);
  }

  // Is every change in the record? And is everything in it that a store does?
  void check_record(const disk_recorder::Record& record, const FileTree& on_disk,
                    const CrashModel& model) {
    if (model.process_died(model.changes()).describe() != on_disk.describe()) {
      fail("the record is not what happened: a call that changes the disk is not wrapped");
      for (const std::string& line : record.after.describe()) fmt::print("  record {}\n", line);
      for (const std::string& line : on_disk.describe()) fmt::print("  disk   {}\n", line);
    }
    std::set<DiskChange::Type> seen;
    for (const DiskChange& change : record.changes) seen.insert(change.type);
    using Type = DiskChange::Type;
    std::set<Type> wanted = {
        Type::kMake,    Type::kMakeDirectory, Type::kUnlink, Type::kRename,   Type::kWrite,
        Type::kSetMode, Type::kSetIdentity,   Type::kFlush,  Type::kFlushAll, Type::kWord};
    if (temporaries_ == CacheDisk::Temporaries::kUnnamedIfPossible) wanted.insert(Type::kLink);
    for (Type type : wanted) {
      if (!seen.contains(type)) fail("the workload made no " + DiskChange{type}.describe());
    }
  }

  void check(const char* what, std::size_t moment, const CrashModel& model,
             const FileTree& state, const Promises& promises) {
    bool recorded = random_() % kRecordedOfRecoveries == 0;
    disk_recorder::Record recovery;
    std::vector<std::string> wrong = recover(state, promises, recorded ? &recovery : nullptr);
    if (!wrong.empty()) {
      report(fmt::format("{} after {} changes", what, moment), wrong, state, model, moment);
    } else if (recorded) {
      check_second_crash(recovery, promises);
    }
  }

  // The next crash comes while the store recovers from the first.
  void check_second_crash(const disk_recorder::Record& recovery, const Promises& promises) {
    CrashModel model(recovery);
    for (std::size_t moment = 0; moment <= model.changes(); ++moment) {
      for (const FileTree& state :
           {model.process_died(moment), model.power_lost(moment, random_)}) {
        std::vector<std::string> wrong = recover(state, promises, nullptr);
        if (wrong.empty()) continue;
        report(fmt::format("a second crash after {} changes of a recovery", moment), wrong,
               state, model, moment);
      }
    }
  }

  std::vector<std::string> recover(const FileTree& state, const Promises& promises,
                                   disk_recorder::Record* recovery) {
    ++states_;
    std::filesystem::remove_all(scratch_.path("state"));
    use("state");
    std::filesystem::remove(config_.cache);
    write_tree(state, config_.cache);
    if (recovery == nullptr) {
      return recover_and_check(config_, origin_, promises, temporaries_);
    }
    disk_recorder::skip_flushes(false);
    disk_recorder::begin(config_.cache);
    std::vector<std::string> wrong =
        recover_and_check(config_, origin_, promises, temporaries_);
    *recovery = disk_recorder::end();
    disk_recorder::skip_flushes(true);
    return wrong;
  }

  void report(const std::string& what, const std::vector<std::string>& wrong,
              const FileTree& state, const CrashModel& model, std::size_t moment) {
    fail(what);
    if (failures_ > kReportedFailures) return;
    for (const std::string& line : wrong) fmt::print("  {}\n", line);
    for (const std::string& line : state.describe()) fmt::print("  left: {}\n", line);
    for (std::size_t i = moment > 20 ? moment - 20 : 0; i < moment; ++i) {
      fmt::print("  change {}: {}\n", i, model.change(i).describe());
    }
  }

  void fail(const std::string& what) {
    if (++failures_ <= kReportedFailures) fmt::print("FAILED seed {}: {}\n", seed_, what);
  }

  ScratchDirectory scratch_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const CacheDisk::Temporaries temporaries_;
  OriginHistory origin_;
  Config config_;
  std::size_t states_ = 0;
  std::size_t failures_ = 0;
};

int run(int argc, char** argv) {
  auto number = [&](int index, std::uint64_t otherwise) {
    return index < argc ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  if (argc < 2) {
    fmt::print(stderr,
               "usage: crash_states SCRATCH [STATES_PER_MOMENT [FIRST_SEED [SEEDS]]]\n");
    return 2;
  }
  ::signal(SIGIO, SIG_IGN);  // has_writer()
  std::string parent = quick_parent(argv[1]);
  std::size_t states = 0, failures = 0;
  for (std::uint64_t seed = number(3, 1), end = seed + number(4, 2); seed < end; ++seed) {
    Trial trial(parent, seed);
    trial.run(number(2, 2));
    fmt::print("seed {}: {} states, {} failed\n", seed, trial.states(), trial.failures());
    std::fflush(stdout);
    states += trial.states();
    failures += trial.failures();
  }
  fmt::print("{} states, {} failed\n", states, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  try {
    return zazen::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "crash_states: error: {}\n", error.what());
    return 1;
  }
}
