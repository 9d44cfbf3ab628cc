// SIGHUP to the real daemon. tests/e2e/daemon/reload_loses_no_hit.py tests its effect on a
// running program.
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <regex>

#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

class ReloadTest : public ZazendTest {
 protected:
  std::string second() const { return directory() + "/sim2"; }
  std::string second_dataset() const {
    return "[[dataset]]\npath = \"" + second() + "\"\nframes = \"g{seq}\"\n";
  }
  // Its end is one line of the log.
  void reload() {
    auto ends = [this] {
      static const std::regex kEnd("event=reload(ed|_failed) ");
      std::string text = log();
      return std::distance(std::sregex_iterator(text.begin(), text.end(), kEnd), {});
    };
    auto before = ends();
    ::kill(pid_, SIGHUP);
    while (ends() == before) ::usleep(2'000);
  }
  std::vector<std::string> served() {
    std::vector<std::string> paths;
    nlohmann::json now = status();
    for (const nlohmann::json& dataset : now["datasets"]) paths.push_back(dataset["path"]);
    return paths;
  }
  void begin() {
    std::filesystem::create_directory(second());
    write_config();
    start();
  }
  using Paths = std::vector<std::string>;
};

TEST_F(ReloadTest, DatasetsComeAndGo) {
  write_file(origin("f1"), "one");
  begin();
  ASSERT_EQ(push({1}), 0);
  write_config("", "f{seq}", second_dataset());
  reload();
  EXPECT_EQ(served(), (Paths{origin(), second()}));

  // The first one goes: nothing of it is taken, its copy stays and counts.
  write_file(config_file(), "node = \"n0\"\ncache = \"" + cache() + "\"\nruntime = \"" +
                                runtime() + "\"\n" + second_dataset());
  reload();
  EXPECT_EQ(served(), Paths{second()});
  EXPECT_EQ(status()["used_files"], 1);
  EXPECT_EQ(ask(MessageType::kPush, "f1", open_origin("f1").get()), ENOENT);
  EXPECT_EQ(read_file(copy("f1")), "one");
  const Table* table = map_table(runtime().c_str());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->datasets[0].removed, 1U);
  EXPECT_EQ(table->datasets[0].filter, FilterMode::kOff);
  EXPECT_EQ(table->datasets[1].removed, 0U);
  unmap_table(table);
  // The daemon hears of a change to a frame of it.
  EXPECT_EQ(ask(MessageType::kInvalidate, "f1"), 0);
  EXPECT_FALSE(exists(copy("f1")));

  write_config();
  reload();
  EXPECT_EQ(served(), Paths{origin()});
  EXPECT_EQ(push({1}), 0);
  EXPECT_EQ(read_file(copy("f1")), "one");
}

TEST_F(ReloadTest, CopiesOfADatasetThatComesBackAreFound) {
  write_file(origin("f1"), "one");
  begin();
  ASSERT_EQ(push({1}), 0);
  write_file(config_file(), "node = \"n0\"\ncache = \"" + cache() + "\"\nruntime = \"" +
                                runtime() + "\"\n" + second_dataset());
  ASSERT_EQ(end(SIGTERM), 0);
  start();
  EXPECT_EQ(status()["used_files"], 0);
  write_config("", "f{seq}", second_dataset());
  reload();
  EXPECT_EQ(served(), (Paths{second(), origin()}));
  EXPECT_EQ(status()["datasets"][1]["native"], 1);
  EXPECT_EQ(status()["used_files"], 1);
}

// Nobody watched its copies while it was away.
TEST_F(ReloadTest, StaleCopyOfADatasetThatComesBackIsDropped) {
  write_file(origin("f1"), "one");
  write_file(origin("f2"), "two");
  begin();
  ASSERT_EQ(push({1, 2}), 0);
  write_file(config_file(), "node = \"n0\"\ncache = \"" + cache() + "\"\nruntime = \"" +
                                runtime() + "\"\n" + second_dataset());
  ASSERT_EQ(end(SIGTERM), 0);
  start();
  write_file(origin("f1"), "newer");
  write_config("", "f{seq}", second_dataset());
  reload();
  while (exists(copy("f1"))) ::usleep(1000);
  EXPECT_TRUE(exists(copy("f2")));
}

TEST_F(ReloadTest, LimitsAndKeysChange) {
  for (int i = 0; i < 4; ++i)
    write_file(origin("f" + std::to_string(i)), std::string(1000, 'x'));
  begin();
  for (int i = 0; i < 4; ++i) {
    std::string name = "f" + std::to_string(i);
    ASSERT_EQ(ask(MessageType::kFill, name, open_origin(name).get()), 0);
  }
  EXPECT_EQ(status()["used_files"], 4);
  write_config(
      "max_files = 3\ncapacity = 2500", "f{seq}",
      "validate = \"always\"\nfill = \"wait\"\nfilter = false\naudit = \"warn\"\npush = true");
  reload();
  EXPECT_EQ(status()["capacity_bytes"], 2500);
  EXPECT_EQ(status()["used_files"], 2);
  const Table* table = map_table(runtime().c_str());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->datasets[0].validate, Validate::kAlways);
  EXPECT_EQ(table->datasets[0].fill, Fill::kWait);
  EXPECT_EQ(table->datasets[0].push, 1U);
  EXPECT_EQ(table->datasets[0].filter, FilterMode::kOff);
  EXPECT_EQ(table->datasets[0].audit, AuditMode::kWarn);
  unmap_table(table);
}

TEST_F(ReloadTest, FileWithAnErrorChangesNothing) {
  begin();
  const Table* before = map_table(runtime().c_str());
  write_config("capacity = 5\ncapacty = 6", "f{seq}", second_dataset());
  reload();
  EXPECT_NE(log().find("level=error event=reload_failed"), std::string::npos) << log();
  EXPECT_NE(log().find(config_file() + ":5: unknown key 'capacty'"), std::string::npos)
      << log();
  EXPECT_NE(log().find("hint=\"did you mean 'capacity'?\""), std::string::npos) << log();
  EXPECT_EQ(served(), Paths{origin()});
  EXPECT_EQ(status()["capacity_bytes"], 0);
  EXPECT_TRUE(daemon_is_alive(*before, monotonic_ms()));
  unmap_table(before);
}

TEST_F(ReloadTest, WhatNeedsARestartIsSaid) {
  begin();
  write_file(config_file(), "node = \"n1\"\ncache = \"" + cache() + "2\"\nruntime = \"" +
                                runtime() + "2\"\n[[dataset]]\npath = \"" + origin() +
                                "\"\nframes = \"frame{seq}\"\n");
  reload();
  for (const char* key : {"node", "cache", "runtime", "frames"}) {
    EXPECT_TRUE(std::regex_search(
        log(),
        std::regex("level=warn event=needs_restart subject=\\S+ key=" + std::string(key))))
        << log();
  }
  EXPECT_EQ(status()["node"], "n0");
  EXPECT_EQ(status()["cache"], cache());
  EXPECT_EQ(status()["datasets"][0]["frames"], "f{seq}");
}

// The outcome of a reload that a client asks for.
TEST_F(ReloadTest, ClientGetsTheOutcome) {
  begin();
  auto outcome = [this] {
    Result<std::string> text = client().reload();
    return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json(text.error().message());
  };
  using Json = nlohmann::json;
  write_config("max_files = 9\nsweep = \"1h\"\nread_order = \"fifo\"", "f{seq}",
               "push = true\n" + second_dataset());
  Json said = outcome();
  EXPECT_EQ(said["error"], nullptr);
  EXPECT_EQ(said["datasets"], 2);
  EXPECT_EQ(said["added"], Json::array({second()}));
  EXPECT_EQ(said["removed"], Json::array());
  const Json changed = {{{"dataset", nullptr}, {"key", "max_files"}},
                        {{"dataset", origin()}, {"key", "push"}}};
  EXPECT_EQ(said["changed"], changed);
  const Json restart = Json::array({{{"dataset", nullptr}, {"key", "read_order"}}});
  EXPECT_EQ(said["needs_restart"], restart);

  // The key that needs a restart is not in force, however often the file is read.
  said = outcome();
  EXPECT_EQ(said["changed"], Json::array());
  EXPECT_EQ(said["added"], Json::array());
  EXPECT_EQ(said["needs_restart"], restart);

  write_config("max_fils = 9");
  said = outcome();
  EXPECT_EQ(said["error"]["reason"], config_file() + ":4: unknown key 'max_fils'");
  EXPECT_EQ(said["error"]["hint"], "did you mean 'max_files'?");
  EXPECT_EQ(said["removed"], Json::array());
  EXPECT_EQ(served(), (Paths{origin(), second()}));
}

TEST_F(ReloadTest, DatasetInsideARemovedOneWaitsForARestart) {
  begin();
  std::filesystem::create_directory(origin("run1"));
  write_file(config_file(), "node = \"n0\"\ncache = \"" + cache() + "\"\nruntime = \"" +
                                runtime() + "\"\n[[dataset]]\npath = \"" + origin("run1") +
                                "\"\nframes = \"f{seq}\"\n");
  reload();
  EXPECT_NE(log().find("are in the way"), std::string::npos) << log();
  EXPECT_EQ(served(), Paths{});
}

TEST_F(ReloadTest, OldTableSaysThatItIsSuperseded) {
  begin();
  const Table* before = map_table(runtime().c_str());
  reload();
  EXPECT_TRUE(is_superseded(*before));
  const Table* after = map_table(runtime().c_str());
  ASSERT_NE(after, nullptr);
  EXPECT_TRUE(daemon_is_alive(*after, monotonic_ms()));
  EXPECT_EQ(after->instance, before->instance);
  unmap_table(before);
  unmap_table(after);
}

TEST_F(ReloadTest, ServiceManagerIsTold) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::string path = directory() + "/notify";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval limit = {60, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  auto next = [&] {
    char text[256];
    ssize_t size = ::recv(socket.get(), text, sizeof text, 0);
    return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  };
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  begin();
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(next(), "READY=1");
  reload();
  EXPECT_TRUE(std::regex_match(next(), std::regex("RELOADING=1\nMONOTONIC_USEC=\\d+")));
  EXPECT_EQ(next(), "READY=1");
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_EQ(next(), "STOPPING=1");
}

}  // namespace
}  // namespace zazen
