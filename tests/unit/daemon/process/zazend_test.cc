// The real daemon over its real socket: its answers to the tools and the shim.
#include <grp.h>
#include <sys/mman.h>

#include "bodhi/lean/frames/identity_index.h"
#include "bodhi/node/packed_listing.h"
#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

TEST_F(ZazendTest, PushedFramesAreHeldListedAndSurviveARestart) {
  write_config();
  for (FrameSeq seq : {0, 1, 2}) write_file(origin("f" + std::to_string(seq)), "abc");
  start();
  ASSERT_EQ(push({0, 1, 2}), 0);
  EXPECT_EQ(native_log(), (Frames{0, 1, 2}));
  EXPECT_EQ(read_file(copy("f1")), "abc");

  auto check = [this] {
    nlohmann::json now = status();
    EXPECT_TRUE(now["healthy"]);
    EXPECT_EQ(now["node"], "n0");
    EXPECT_EQ(now["used_files"], 3);
    EXPECT_EQ(now["used_bytes"], 9);
    EXPECT_EQ(now["datasets"][0]["native"], 3);
    EXPECT_EQ(now["datasets"][0]["path"], origin());
    Result<std::vector<ListRecord>> list = client().list("");
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->size(), 3u);
    EXPECT_EQ((*list)[2].seq, 2u);
    EXPECT_EQ((*list)[2].kind, FrameKind::kNative);
  };
  check();
  ASSERT_EQ(end(SIGTERM), 0);
  start();
  check();
}

TEST_F(ZazendTest, FillIsTakenEvenIfTheClientIsGoneBeforeItIsRead) {
  write_config();
  write_file(origin("f5"), "five");
  start();
  char packet[kMaxMessage];
  std::size_t size = encode_frame_message(MessageType::kFill, 0, 0, origin().c_str(), "f5",
                                          packet, sizeof packet);
  ::kill(pid_, SIGSTOP);
  {
    UniqueFd socket(connect_daemon(runtime().c_str(), 60'000));
    EXPECT_EQ(send_message(socket.get(), packet, size, open_origin("f5").get(), 60'000), 0);
  }
  ::kill(pid_, SIGCONT);
  for (int i = 0; i < 5'000 && alien_log().empty(); ++i) ::usleep(2'000);
  EXPECT_EQ(alien_log(), Frames{5});
  EXPECT_EQ(read_file(copy("f5")), "five");
}

TEST_F(ZazendTest, FillThatIsWaitedForIsAnsweredWhenTheCopyIsThere) {
  write_config();
  write_file(origin("f5"), "five");
  start();
  EXPECT_EQ(ask(MessageType::kFill, "f5", open_origin("f5").get()), 0);
  EXPECT_EQ(read_file(copy("f5")), "five");
}

TEST_F(ZazendTest, InvalidateRemovesTheCopyBeforeItAnswers) {
  write_config();
  write_file(origin("f1"), "x");
  start();
  ASSERT_EQ(push({1}), 0);
  ASSERT_TRUE(exists(copy("f1")));
  EXPECT_EQ(ask(MessageType::kInvalidate, "f1"), 0);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(native_log(), Frames{});
}

TEST_F(ZazendTest, EvictHonoursRangeKindsAndDryRun) {
  write_config();
  Frames frames = {0, 1, 2, 3, 4, 5};
  for (FrameSeq seq : frames) write_file(origin("f" + std::to_string(seq)), "xy");
  start();
  ASSERT_EQ(push(frames), 0);
  Result<EvictReply> planned =
      client().evict(origin(), 1, 3, kEvictNatives | kEvictAliens | kEvictDryRun);
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->frames, 3u);
  EXPECT_EQ(planned->bytes, 6u);
  EXPECT_EQ(native_log(), frames);
  EXPECT_EQ(client().evict(origin(), 1, 3, kEvictAliens)->frames, 0u);
  EXPECT_EQ(client().evict(origin(), 1, 3, kEvictNatives)->frames, 3u);
  EXPECT_EQ(native_log(), (Frames{0, 4, 5}));
}

TEST_F(ZazendTest, SampleDropsStaleCopiesAndOrdersChecks) {
  write_config();
  write_file(origin("f1"), "old");
  write_file(origin("f2"), "same");
  start();
  ASSERT_EQ(push({1, 2}), 0);
  const Table* table = map_table(runtime().c_str());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->datasets[0].sampled_at_ms, 0);
  write_file(origin("f1"), "newer");
  ASSERT_TRUE(client().sample(origin()).ok());
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_TRUE(exists(copy("f2")));
  EXPECT_EQ(native_log(), Frames{2});
  EXPECT_EQ(table->datasets[0].doubts, kStale);
  EXPECT_NE(table->datasets[0].sampled_at_ms, 0);
  unmap_table(table);
}

TEST_F(ZazendTest, AnAcknowledgedInvalidationSurvivesAKill) {
  write_config("", "f{seq}", "validate = \"never\"");
  for (FrameSeq seq = 1; seq <= 3; ++seq) write_file(origin("f" + std::to_string(seq)), "old");
  start();
  EXPECT_TRUE(status()["stopped_cleanly"].get<bool>()) << "there was nothing to lose";
  ASSERT_EQ(push({1, 2, 3}), 0);
  ASSERT_EQ(end(SIGTERM), 0);
  start();
  EXPECT_TRUE(status()["stopped_cleanly"].get<bool>());
  EXPECT_FALSE(status()["datasets"][0]["checks_each_open"].get<bool>());
  ASSERT_EQ(ask(MessageType::kInvalidate, "f2"), 0);
  EXPECT_EQ(end(SIGKILL), 128 + SIGKILL);
  EXPECT_FALSE(exists(copy("f2")));

  // It may have lost other notices, too: opens are checked until all was compared.
  std::filesystem::rename(origin(), directory() + "/away");
  start();
  EXPECT_FALSE(status()["stopped_cleanly"].get<bool>());
  EXPECT_TRUE(status()["datasets"][0]["checks_each_open"].get<bool>());
  EXPECT_EQ(native_log(), (Frames{1, 3}));
  std::filesystem::rename(directory() + "/away", origin());
  while (status()["datasets"][0]["checks_each_open"].get<bool>()) ::usleep(10'000);
  EXPECT_EQ(native_log(), (Frames{1, 3}));
}

TEST_F(ZazendTest, AStaleCopyThatAProgramFoundOrdersChecks) {
  write_config();
  write_file(origin("f1"), "old");
  start();
  ASSERT_EQ(push({1}), 0);
  while (status()["datasets"][0]["checks_each_open"].get<bool>()) ::usleep(10'000);
  ASSERT_EQ(ask(MessageType::kInvalidate, "f1"), 0);
  EXPECT_FALSE(status()["datasets"][0]["checks_each_open"].get<bool>());
  ASSERT_EQ(ask(MessageType::kInvalidate, "f1", -1, kWaitForIt | kFoundStale), 0);
  EXPECT_TRUE(status()["datasets"][0]["checks_each_open"].get<bool>());
}

TEST_F(ZazendTest, VerifyAnswersWithWhatItFound) {
  write_config();
  for (FrameSeq seq = 1; seq <= 3; ++seq) write_file(origin("f" + std::to_string(seq)), "good");
  start();
  ASSERT_EQ(push({1, 2, 3}), 0);
  ASSERT_EQ(::chmod(copy("f2").c_str(), 0600), 0);
  write_file(copy("f2"), "evil");
  ASSERT_EQ(::chmod(copy("f2").c_str(), kCopyMode), 0);
  std::vector<FrameSeq> bad;
  std::uint64_t frames = 0;
  for (FrameSeq next = 0;;) {
    Result<Client::Verified> piece = client().verify(origin(), next, ~FrameSeq{0});
    ASSERT_TRUE(piece.ok());
    frames += piece->figures.frames;
    for (const VerifyFinding& finding : piece->findings) bad.push_back(finding.seq);
    if (piece->figures.done != 0) break;
    next = piece->figures.next;
  }
  EXPECT_EQ(frames, 3u);
  EXPECT_EQ(bad, Frames{2});
  EXPECT_EQ(native_log(), (Frames{1, 3}));
  EXPECT_FALSE(client().verify("/none", 0, 1).ok());
}

TEST_F(ZazendTest, ListingIsKeptIfItIsSettledAndCurrent) {
  write_config();
  write_file(origin("f1"), "x");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, origin().c_str(), times, 0), 0);
  start();
  Result<Listing> listing = list_directory(origin(), config_.datasets[0].name);
  ASSERT_TRUE(listing.ok());
  listing->taken_at_ns += 10'000'000'000;  // as if taken ten seconds after the last change
  ASSERT_TRUE(listing->settled());
  ASSERT_TRUE(client().keep_listing(origin(), encode_listing(*listing)).ok());
  Result<PackedListing> kept =
      load_kept_listing(copy(kListingFile), listing->directory, ListingCheck::kWhole);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept->bytes(), encode_listing(*listing));

  EXPECT_FALSE(client().keep_listing(origin(), "nonsense").ok());
  Listing hasty = *listing;
  hasty.taken_at_ns = hasty.directory.mtime_ns;
  EXPECT_FALSE(client().keep_listing(origin(), encode_listing(hasty)).ok());
  write_file(origin("f2"), "x");
  EXPECT_FALSE(client().keep_listing(origin(), encode_listing(*listing)).ok());
}

TEST_F(ZazendTest, PoisonWrongNamesAndMissingDescriptorsAreRefused) {
  write_config();
  write_file(origin("f1"), "x");
  write_file(origin("notes"), "x");
  start();
  UniqueFd notes = open_origin("notes");
  EXPECT_EQ(ask(MessageType::kPush, "f1", notes.get()), EPERM);
  EXPECT_EQ(ask(MessageType::kPush, "notes", notes.get()), EINVAL);
  EXPECT_EQ(ask(MessageType::kPush, "../f1", notes.get()), EINVAL);
  EXPECT_EQ(ask(MessageType::kPush, "f1"), -1);
  EXPECT_EQ(client().evict("/nowhere", 0, 1, kEvictAliens).error().code, ENOENT);
  EXPECT_EQ(status()["used_files"], 0);
}

TEST_F(ZazendTest, MissingDatasetIsAProblemButNoObstacle) {
  write_config();
  std::filesystem::remove(origin());
  start();
  EXPECT_FALSE(status()["healthy"]);
  EXPECT_NE(status()["problems"][0].get<std::string>().find(origin()), std::string::npos);
  write_file(origin("f1"), "x");
  EXPECT_EQ(push({1}), 0);
  EXPECT_TRUE(status()["healthy"]);
}

TEST_F(ZazendTest, HitsAndMissesAreThoseOfTheCounters) {
  write_config();
  start();
  Counters* counters = map_counters(runtime().c_str());
  ASSERT_NE(counters, nullptr);
  counters->datasets[0].hits += 5;
  counters->datasets[0].misses += 2;
  EXPECT_EQ(status()["hits"], 5);
  EXPECT_EQ(status()["misses"], 2);
  EXPECT_EQ(status()["datasets"][0]["hits"], 5);
  ::munmap(counters, sizeof *counters);
}

TEST_F(ZazendTest, CleanStopLeavesTheTableOnly) {
  write_config();
  start();
  const Table* table = map_table(runtime().c_str());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_EQ(table->state.load(), DaemonState::kStopped);
  unmap_table(table);
  for (const char* name : {kIndexFile, kSocketFile, kCountersFile, kJobsDirectory}) {
    EXPECT_FALSE(exists(runtime() + "/" + name)) << name;
  }
  // The table still tells where copies are; no daemon owns it.
  bool is_held = true;
  table = map_table(runtime().c_str(), &is_held);
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(is_held);
  EXPECT_EQ(table->state.load(), DaemonState::kStopped);
  unmap_table(table);
  EXPECT_EQ(map_table(runtime().c_str()), nullptr);
}

TEST_F(ZazendTest, KilledDaemonIsSeenAsDeadAndRestartsWithItsFrames) {
  write_config();
  write_file(origin("f1"), "x");
  start();
  ASSERT_EQ(push({1}), 0);
  Result<Client> before = Client::connect(runtime());
  NodeId id = map_table(runtime().c_str())->node_id;
  EXPECT_EQ(end(SIGKILL), 128 + SIGKILL);
  EXPECT_TRUE(exists(runtime() + "/table"));
  EXPECT_EQ(map_table(runtime().c_str()), nullptr);
  start();
  EXPECT_EQ(status()["used_files"], 1);
  EXPECT_EQ(map_table(runtime().c_str())->node_id, id);
}

TEST_F(ZazendTest, KillDuringPushesLeavesWholeCopiesAndAgreement) {
  write_config();
  Frames frames;
  std::string content(64 * 1024, 'z');
  for (FrameSeq seq = 0; seq < 60; ++seq) {
    frames.push_back(seq);
    write_file(origin("f" + std::to_string(seq)), content);
  }
  for (FrameSeq round = 0; round < 5; ++round) {
    start();
    Client to = client();
    for (FrameSeq seq : frames) {
      std::string name = "f" + std::to_string(seq);
      ASSERT_TRUE(to.start_push(origin(), name, open_origin(name).get()).ok());
    }
    Frames answered;  // each of these is durable, by the daemon's word
    for (FrameSeq i = 0; i < 10 * round; ++i) {
      Result<Client::PushAnswer> answer = to.next_push_answer();
      ASSERT_TRUE(answer.ok());
      ASSERT_EQ(answer->status, 0);
      answered.push_back(answer->request - 1);  // requests count from 1, in order
    }
    end(SIGKILL);
    start();
    while (!status()["reconciled"]) ::usleep(10'000);  // the log may lack the last batch
    std::size_t on_disk = 0;
    for (FrameSeq seq : frames) {
      std::string path = copy("f" + std::to_string(seq));
      if (!exists(path)) continue;
      ++on_disk;
      ASSERT_EQ(read_file(path), content);
    }
    for (FrameSeq seq : answered) EXPECT_TRUE(exists(copy("f" + std::to_string(seq))));
    EXPECT_EQ(native_log().size(), on_disk);
    EXPECT_EQ(status()["used_files"], on_disk);
    ASSERT_TRUE(client().evict(origin(), 0, 1000, kEvictNatives).ok());
    ASSERT_EQ(end(SIGTERM), 0);
  }
}

TEST_F(ZazendTest, AnotherUserIsNotServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  write_config();
  start();
  // Even if the directories let them pass, the daemon asks the kernel who they are.
  ::chmod(directory().c_str(), 0711);
  ::chmod(runtime().c_str(), 0711);
  ::chmod((runtime() + "/socket").c_str(), 0666);
  pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresuid(54321, 54321, 54321) != 0) ::_exit(9);
    Result<Client> other = Client::connect(runtime(), 60'000);
    if (!other.ok()) ::_exit(8);
    ::_exit(other->status().ok() ? 1 : 0);
  }
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(status()["node"], "n0");
}

}  // namespace
}  // namespace zazen
