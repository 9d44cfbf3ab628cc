#include "bodhi/lean/frames/table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

// A table in memory, aligned as a mapping is.
class TableImage {
 public:
  explicit TableImage(std::uint32_t datasets) : words_(table_size(datasets) / 8 + 1) {
    Table& table = get();
    table.magic = kTableMagic;
    table.version = kTableVersion;
    table.dataset_count = datasets;
    table.file_size = table_size(datasets);
    std::strcpy(table.node_name, "n0");
    std::strcpy(table.cache, "/scratch/zazen");
    table.state = DaemonState::kServing;
    for (std::uint32_t i = 0; i < datasets; ++i) {
      std::snprintf(table.datasets[i].path, kMaxPath, "/sim%u", i);
      std::strcpy(table.datasets[i].frames, "f{seq}");
    }
  }

  Table& get() { return *reinterpret_cast<Table*>(words_.data()); }
  std::size_t size() { return get().file_size; }
  bool valid() { return table_is_valid(&get(), size()); }
  std::string bytes() { return {reinterpret_cast<const char*>(words_.data()), size()}; }

 private:
  std::vector<std::uint64_t> words_;
};

TEST(Table, SoundTablesAreValid) {
  for (std::uint32_t count : {0u, 1u, 2u, 256u})
    EXPECT_TRUE(TableImage(count).valid()) << count;
}

TEST(Table, EachDamagedFieldIsSeen) {
  std::pair<const char*, std::function<void(Table&)>> damages[] = {
      {"magic", [](Table& t) { t.magic ^= 1; }},
      {"version", [](Table& t) { t.version = kTableVersion + 1; }},
      {"dataset_count", [](Table& t) { t.dataset_count = 3; }},
      {"huge dataset_count", [](Table& t) { t.dataset_count = UINT32_MAX; }},
      {"node_name", [](Table& t) { std::memset(t.node_name, 'x', sizeof t.node_name); }},
      {"cache", [](Table& t) { std::memset(t.cache, 'x', sizeof t.cache); }},
      {"empty cache", [](Table& t) { t.cache[0] = '\0'; }},
      {"relative cache", [](Table& t) { std::strcpy(t.cache, "scratch"); }},
      {"slash at the end", [](Table& t) { std::strcpy(t.cache, "/scratch/"); }},
      {"state", [](Table& t) { t.state = static_cast<DaemonState>(5); }},
      {"path", [](Table& t) { std::memset(t.datasets[1].path, '/', kMaxPath); }},
      {"relative path", [](Table& t) { std::strcpy(t.datasets[1].path, "sim1"); }},
      {"empty path", [](Table& t) { t.datasets[1].path[0] = '\0'; }},
      {"frames", [](Table& t) { std::memset(t.datasets[1].frames, 'x', kMaxTemplate); }},
      {"no template", [](Table& t) { std::strcpy(t.datasets[1].frames, "f"); }},
      {"filter", [](Table& t) { t.datasets[1].filter = static_cast<FilterMode>(3); }},
      {"audit", [](Table& t) { t.datasets[1].audit = static_cast<AuditMode>(2); }},
      {"validate", [](Table& t) { t.datasets[1].validate = static_cast<Validate>(3); }},
      {"push", [](Table& t) { t.datasets[1].push = 2; }},
      {"fill", [](Table& t) { t.datasets[1].fill = static_cast<Fill>(2); }},
  };
  for (const auto& [what, damage] : damages) {
    TableImage image(2);
    std::size_t size = image.size();
    damage(image.get());
    EXPECT_FALSE(table_is_valid(&image.get(), size)) << what;
  }
}

TEST(Table, SizesMustAgree) {
  TableImage image(2);
  std::size_t size = image.size();
  for (std::size_t mapped = 0; mapped < size; mapped += 7) {
    EXPECT_FALSE(table_is_valid(&image.get(), mapped)) << mapped;
  }
  image.get().file_size += 1;
  EXPECT_FALSE(table_is_valid(&image.get(), size));
  EXPECT_FALSE(table_is_valid(&image.get(), size + 1));
}

TEST(Table, ADaemonLivesByItsHeartbeat) {
  TableImage image(0);
  Table& table = image.get();
  table.heartbeat_ms = 50'000;
  EXPECT_TRUE(daemon_is_alive(table, 50'000));
  EXPECT_TRUE(daemon_is_alive(table, 50'000 + kHeartbeatStaleMs - 1));
  EXPECT_FALSE(daemon_is_alive(table, 50'000 + kHeartbeatStaleMs));
  table.state = DaemonState::kStopped;
  EXPECT_FALSE(daemon_is_alive(table, 50'000));
  table.state = DaemonState::kStarting;
  EXPECT_FALSE(daemon_is_alive(table, 50'000));
}

TEST(Table, ClockDoesNotGoBack) {
  std::int64_t before = monotonic_ms();
  EXPECT_GT(before, 0);
  EXPECT_GE(monotonic_ms(), before);
}

TEST(Table, CopyPath) {
  TableImage image(2);
  char out[64];
  EXPECT_EQ(copy_path(image.get(), image.get().datasets[1], "run/f7", out, sizeof out), 26u);
  EXPECT_STREQ(out, "/scratch/zazen/sim1/run/f7");
  EXPECT_EQ(copy_path(image.get(), image.get().datasets[1], "run/f7", out, 27), 26u);
  EXPECT_EQ(copy_path(image.get(), image.get().datasets[1], "run/f7", out, 26), 0u);
}

// A child process that holds the table's lock, as a daemon does.
class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      int fd = ::open(path.c_str(), O_RDWR);
      struct flock lock = {};
      lock.l_type = F_WRLCK;
      char result = ::fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 'y' : 'n';
      if (::write(ready[1], &result, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char result = 'n';
    locked_ = ::read(ready[0], &result, 1) == 1 && result == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~LockHolder() { kill(); }

  bool locked() const { return locked_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
  bool locked_;
};

class MapTableTest : public testing::Test {
 protected:
  MapTableTest() {
    write_file(file_, TableImage(2).bytes());
    ::chmod(file_.c_str(), 0600);
  }
  bool can_be_mapped() {
    const Table* table = map_table(scratch_.path().c_str());
    unmap_table(table);
    return table != nullptr;
  }
  static std::size_t open_files() { return entries_in("/proc/self/fd"); }

  Scratch scratch_;
  std::string file_ = scratch_ / kTableFile;
};

TEST_F(MapTableTest, OfALiveDaemonOnly) {
  std::size_t files = open_files();
  errno = EDOM;
  EXPECT_FALSE(can_be_mapped());
  LockHolder daemon(file_);
  ASSERT_TRUE(daemon.locked());
  const Table* table = map_table(scratch_.path().c_str());
  ASSERT_NE(table, nullptr);
  EXPECT_STREQ(table->datasets[1].path, "/sim1");
  EXPECT_EQ(table->file_size, table_size(2));
  daemon.kill();
  EXPECT_FALSE(can_be_mapped());
  EXPECT_STREQ(table->node_name, "n0");  // what is mapped stays
  unmap_table(table);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(open_files(), files);
}

TEST_F(MapTableTest, ChangesOfTheDaemonShow) {
  LockHolder daemon(file_);
  const Table* table = map_table(scratch_.path().c_str());
  ASSERT_NE(table, nullptr);
  UniqueFd fd(::open(file_.c_str(), O_RDWR));
  auto* writable = static_cast<Table*>(
      ::mmap(nullptr, table->file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_NE(writable, MAP_FAILED);
  writable->heartbeat_ms = 4711;
  EXPECT_EQ(table->heartbeat_ms, 4711);
  ::munmap(writable, table->file_size);
  unmap_table(table);
}

TEST_F(MapTableTest, NotIfOthersCouldHaveWrittenIt) {
  LockHolder daemon(file_);
  for (mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(::chmod(file_.c_str(), mode), 0);
    EXPECT_FALSE(can_be_mapped()) << mode;
  }
  ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  EXPECT_TRUE(can_be_mapped());
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(file_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(can_be_mapped());
}

TEST_F(MapTableTest, NotIfItIsDamagedOrNoPlainFile) {
  {
    write_file(file_, TableImage(2).bytes().substr(0, table_size(2) - 1));
    LockHolder daemon(file_);
    EXPECT_FALSE(can_be_mapped());
  }
  {
    write_file(file_, "");
    LockHolder daemon(file_);
    EXPECT_FALSE(can_be_mapped());
  }
  {
    write_file(scratch_ / "elsewhere", TableImage(2).bytes());
    std::filesystem::remove(file_);
    std::filesystem::create_symlink("elsewhere", file_);
    LockHolder daemon(file_);
    ASSERT_TRUE(daemon.locked());
    EXPECT_FALSE(can_be_mapped());
  }
  EXPECT_EQ(map_table((scratch_ / "none").c_str()), nullptr);
  EXPECT_EQ(map_table(std::string(5000, '/').c_str()), nullptr);
}

TEST_F(MapTableTest, Counters) {
  const char* runtime = scratch_.path().c_str();
  std::string file = scratch_ / kCountersFile;
  EXPECT_EQ(map_counters(runtime), nullptr);
  std::string bytes(sizeof(Counters), '\0');
  write_file(file, bytes);
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(map_counters(runtime), nullptr);  // no magic
  std::memcpy(bytes.data(), &kTableMagic, sizeof kTableMagic);
  write_file(file, bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(map_counters(runtime), nullptr);
  write_file(file, bytes);
  Counters* one = map_counters(runtime);
  Counters* two = map_counters(runtime);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  one->datasets[255].hits.fetch_add(3);
  EXPECT_EQ(two->datasets[255].hits, 3u);
  ::munmap(one, sizeof(Counters));
  ::munmap(two, sizeof(Counters));
  ::chmod(file.c_str(), 0666);
  EXPECT_EQ(map_counters(runtime), nullptr);
}

}  // namespace
}  // namespace zazen
