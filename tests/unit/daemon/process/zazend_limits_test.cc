// The real daemon at its limits: starts that are refused, nonsense on the socket, full
// queues, many clients.
#include <sys/socket.h>

#include "daemon/process/instance_lock.h"
#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

TEST_F(ZazendTest, HelpAndVersionAndUsage) {
  EXPECT_EQ(run_to_end({"--help"}).status, 0);
  EXPECT_EQ(run_to_end({"--version"}).status, 0);
  EXPECT_EQ(run_to_end({"--no-such-option"}).status, 2);
}

TEST_F(ZazendTest, WrongConfigurationIsStatusTwo) {
  write_config("cahce = \"/x\"");
  Ended ended = run_to_end({"--config", config_file()});
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(ended.errors.starts_with("zazend: error: " + config_file())) << ended.errors;
  EXPECT_EQ(run_to_end({"--config", directory() + "/none.toml"}).status, 2);
}

TEST_F(ZazendTest, SecondDaemonOnTheCacheIsRefusedAndTheFirstServesOn) {
  write_config();
  start();
  write_file(cache() + "/.zazen/tmp/of-the-first", "half");
  write_file(directory() + "/second.toml", "cache = \"" + cache() + "\"\nruntime = \"" +
                                               directory() + "/run2\"\n[[dataset]]\npath = \"" +
                                               origin() + "\"\nframes = \"f{seq}\"\n");
  Ended ended = run_to_end({"--config", directory() + "/second.toml"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.errors.find("cache directory " + cache() + ": another zazend (pid " +
                              std::to_string(pid_)),
            std::string::npos)
      << ended.errors;
  EXPECT_TRUE(exists(cache() + "/.zazen/tmp/of-the-first"));
  EXPECT_EQ(status()["node"], "n0");
}

TEST_F(ZazendTest, SecondDaemonOnTheRuntimeDirectoryIsRefused) {
  write_config();
  start();
  write_file(directory() + "/second.toml",
             "cache = \"" + directory() + "/cache2\"\nruntime = \"" + runtime() +
                 "\"\n[[dataset]]\npath = \"" + origin() + "\"\nframes = \"f{seq}\"\n");
  Ended ended = run_to_end({"--config", directory() + "/second.toml"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.errors.find("runtime directory " + runtime()), std::string::npos);
  EXPECT_EQ(status()["node"], "n0");
}

TEST_F(ZazendTest, DaemonizeReturnsWhenItServesAndSaysWhenItCannot) {
  write_config();
  Ended started = run_to_end({"--config", config_file(), "--daemonize"});
  ASSERT_EQ(started.status, 0) << started.errors;
  const Table* table = map_table(runtime().c_str());
  ASSERT_NE(table, nullptr);
  pid_t pid = table->pid;
  EXPECT_TRUE(daemon_is_alive(*table, monotonic_ms()));
  EXPECT_EQ(status()["node"], "n0");

  Ended second = run_to_end({"--config", config_file(), "--daemonize"});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.errors.find("another zazend"), std::string::npos) << second.errors;

  ::kill(pid, SIGTERM);  // not our child: its lock on the cache tells when it has ended
  while (!InstanceLock::take(cache() + "/.zazen/lock", "").ok()) ::usleep(2'000);
  EXPECT_EQ(table->state.load(), DaemonState::kStopped);
  unmap_table(table);
}

TEST_F(ZazendTest, NonsenseClosesTheConnectionOnly) {
  write_config();
  start();
  Client bystander = client();
  EXPECT_EQ(exchange("nonsense"), -1);
  EXPECT_EQ(exchange(std::string(kMaxMessage + 1000, 'x')), -1);
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = MessageType::kReply;
  EXPECT_EQ(exchange(std::string(reinterpret_cast<char*>(&header), sizeof header)), -1);
  header.type = static_cast<MessageType>(77);
  EXPECT_EQ(exchange(std::string(reinterpret_cast<char*>(&header), sizeof header)), -1);
  EXPECT_TRUE(bystander.status().ok());
}

TEST_F(ZazendTest, MoreDescriptorsThanOneCloseTheConnectionAndAreNotKept) {
  write_config();
  write_file(origin("f1"), "x");
  start();
  auto open_descriptors = [this] {
    std::string directory = "/proc/" + std::to_string(pid_) + "/fd";
    return std::distance(std::filesystem::directory_iterator(directory),
                         std::filesystem::directory_iterator());
  };
  status();
  auto before = open_descriptors();
  for (int round = 0; round < 20; ++round) {
    UniqueFd socket(connect_daemon(runtime().c_str(), 60'000));
    UniqueFd file = open_origin("f1");
    char packet[kMaxMessage];
    std::size_t size = encode_frame_message(MessageType::kPush, 1, 0, origin().c_str(), "f1",
                                            packet, sizeof packet);
    int fds[2] = {file.get(), file.get()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
    iovec part = {packet, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fds);
    std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
    ASSERT_GT(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), 0);
    int passed = -1;
    EXPECT_LE(receive_message(socket.get(), packet, sizeof packet, &passed, 60'000), 0);
  }
  EXPECT_LE(open_descriptors(), before + 1);  // the last connection may still be open
}

TEST_F(ZazendTest, ManyPipelinedPushesOfAClientThatReadsLate) {
  write_config();
  Frames frames;
  for (FrameSeq seq = 0; seq < 300; ++seq) {  // more than may be open for one client
    frames.push_back(seq);
    write_file(origin("f" + std::to_string(seq)), "x");
  }
  start();
  EXPECT_EQ(push(frames), 0);
  EXPECT_EQ(native_log(), frames);
}

TEST_F(ZazendTest, HundredsOfClientsAtOnce) {
  write_config();
  write_file(origin("f1"), "x");
  start();
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(client());
  for (Client& one : clients) EXPECT_TRUE(one.status().ok());
}

TEST_F(ZazendTest, ClientThatNeverReadsDoesNotDisturbOthers) {
  write_config();
  start();
  UniqueFd deaf(connect_daemon(runtime().c_str(), 60'000));
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = MessageType::kStatus;
  // Until the daemon stops reading from it.
  for (int i = 0; i < 5'000; ++i) {
    if (::send(deaf.get(), &header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
  }
  EXPECT_TRUE(client().status().ok());
  EXPECT_EQ(end(SIGTERM), 0);
}

TEST_F(ZazendTest, NativesThatDoNotFitAreRefusedAndAliensMakeRoom) {
  write_config("capacity = \"10\"");
  for (FrameSeq seq : {1, 2, 3}) write_file(origin("f" + std::to_string(seq)), "123456");
  start();
  EXPECT_EQ(ask(MessageType::kFill, "f1", open_origin("f1").get()), 0);
  EXPECT_EQ(push({2}), 0);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(push({3}), ENOSPC);
  EXPECT_EQ(status()["evictions"], 1);
}

TEST_F(ZazendTest, FrameNumbersUpToTheLast) {
  write_config();
  std::string name = "f18446744073709551615";
  write_file(origin(name), "last");
  start();
  EXPECT_EQ(ask(MessageType::kPush, name, open_origin(name).get()), 0);
  EXPECT_EQ(native_log(), Frames{~FrameSeq{0}});
}

}  // namespace
}  // namespace zazen
