#include "daemon/worker/push/frame_pusher.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

using namespace std::chrono_literals;

template <class Condition>
bool comes_true(Condition condition) {
  for (auto end = std::chrono::steady_clock::now() + 20s; !condition();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// One real daemon, of which the writer knows under several names.
class FramePusherTest : public ZazendTest {
 protected:
  void name_peers(std::size_t count) {
    std::string path = runtime();
    for (config_.peers.clear(); config_.peers.size() < count; path += "/.") {
      config_.peers.push_back("unix:" + path);
    }
  }
  std::string second(const std::string& name = "") const { return directory() + "/two" + name; }

  void SetUp() override {
    for (const char* name : {"/f1", "/f2"}) {
      write_file(origin() + name, "one");
      write_file(second() + name, "two");
    }
    add_dataset(second(), "f{seq}");
    for (DatasetConfig& dataset : config_.datasets) dataset.push = true;
    name_peers(1);
    write_config("", "f{seq}", "[[dataset]]\npath = \"" + second() + "\"\nframes = \"f{seq}\"");
    start();
  }

  static bool nobody_writes(const std::string&, FrameSeq) { return false; }
};

TEST_F(FramePusherTest, AnOriginThatHangsHoldsUpNoOtherDataset) {
  std::promise<void> release;
  std::atomic<bool> hangs = false;
  FramePusher writer(config_, std::make_shared<KeyRing>(),
                     [&, end = release.get_future().share()](auto& path, FrameSeq) {
                       if (path == second()) return false;
                       hangs = true;
                       end.wait();
                       return false;
                     });
  writer.push(0, 1);
  EXPECT_TRUE(comes_true([&] { return hangs.load(); }));
  writer.push(1, 1);
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 1; }));
  EXPECT_TRUE(exists(cache() + second("/f1")));
  EXPECT_EQ(writer.figures().waiting, 1u);
  release.set_value();
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 2; }));
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, WhoRestsHasNoThreads) {
  constexpr std::uint32_t kDatasets = 50;
  name_peers(4);
  for (std::uint32_t i = 2; i < kDatasets; ++i)
    add_dataset(directory() + "/" + std::to_string(i), "f{seq}");
  // They are left to whoever writes them, by a thread that has a connection.
  FramePusher writer(
      config_, std::make_shared<KeyRing>(), [](const std::string&, FrameSeq) { return true; },
      300);
  std::thread([] {}).join();  // with which a sanitizer's own begins
  const std::ptrdiff_t before = threads();
  for (int round = 1; round <= 2; ++round) {
    for (std::uint32_t dataset = 0; dataset < kDatasets; ++dataset) {
      for (FrameSeq seq = 0; seq < 8; ++seq) writer.push(dataset, seq);
    }
    EXPECT_TRUE(comes_true([&] { return writer.figures().left == kDatasets * 8u * round; }));
    EXPECT_TRUE(comes_true([&] { return threads() == before; })) << threads() - before;
  }
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, AReloadKeepsWhereFramesWent) {
  name_peers(2);
  FramePusher writer(config_, std::make_shared<KeyRing>(), nobody_writes, 1);
  auto push_once = [&](std::uint64_t all) {
    writer.push(0, 1);
    EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == all; }));
  };
  auto pushed_to_one = [&] {
    std::vector<Writer::NodeFigures> nodes = writer.nodes();
    EXPECT_EQ(nodes.size(), 2u);
    EXPECT_EQ(std::ranges::count(nodes, 0u, &Writer::NodeFigures::pushed), 1);
    std::uint64_t most = 0;
    for (const Writer::NodeFigures& node : nodes) most = std::max(most, node.pushed);
    return most;
  };
  for (std::uint64_t all = 1; all <= 10; ++all) {
    push_once(all);
    writer.renew(config_);
  }
  EXPECT_EQ(pushed_to_one(), 10u);

  Config next = config_;
  next.writer_timeout_ms = 1'234;
  writer.renew(next);
  push_once(11);
  EXPECT_EQ(pushed_to_one(), 1u) << "another writer";

  config_.datasets[0].removed = true;
  writer.renew(next);
  EXPECT_TRUE(writer.nodes().empty());
  EXPECT_EQ(writer.figures().pushed, 11u);
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, OneDatasetLeavesRoomForTheOthers) {
  config_.writer_memory_bytes = 64 * WriteQueue::kFrameOverheadBytes;
  std::promise<void> release;
  FramePusher writer(config_, std::make_shared<KeyRing>(),
                     [end = release.get_future().share()](auto&, FrameSeq) {
                       end.wait();
                       return true;
                     });
  for (FrameSeq seq = 0; seq < 100; ++seq) writer.push(0, seq);
  EXPECT_EQ(writer.figures().waiting, 32u);
  for (FrameSeq seq = 0; seq < 100; ++seq) writer.push(1, seq);
  EXPECT_EQ(writer.figures().waiting, 32u + 16u);
  EXPECT_EQ(writer.figures().dropped, 200u - 48u);
  release.set_value();
  EXPECT_TRUE(comes_true([&] { return writer.figures().left == 48; }));
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, AFrameInLineIsNotDroppedThoughThereIsNoRoom) {
  config_.writer_memory_bytes = 64 * WriteQueue::kFrameOverheadBytes;
  std::promise<void> release;
  std::atomic<bool> hangs = false;
  FramePusher writer(config_, std::make_shared<KeyRing>(),
                     [&, end = release.get_future().share()](auto&, FrameSeq) {
                       hangs = true;
                       end.wait();
                       return true;
                     });
  for (FrameSeq seq = 0; seq < 32; ++seq) writer.push(0, seq);
  EXPECT_TRUE(comes_true([&] { return hangs.load(); }));
  for (FrameSeq seq = 1; seq < 32; ++seq) writer.push(0, seq);
  EXPECT_EQ(writer.figures().queued, 32u);
  EXPECT_EQ(writer.figures().dropped, 0u);
  writer.push(0, 32);
  EXPECT_EQ(writer.figures().dropped, 1u) << "this one was not in line";
  release.set_value();
  EXPECT_TRUE(comes_true([&] { return writer.figures().left == 32; }));
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, OneOfBeforeAReloadEndsIfNoNodeAnswers) {
  std::thread([] {}).join();  // with which a sanitizer's own begins
  const std::ptrdiff_t before = threads();
  const Config next = config_;
  config_.peers = {"unix:" + directory() + "/none", "unix:" + directory() + "/neither"};
  FramePusher writer(config_, std::make_shared<KeyRing>(), nobody_writes, 1, 2'000);
  for (FrameSeq seq : {1, 2}) writer.push(0, seq);
  EXPECT_TRUE(
      comes_true([&] { return !writer.nodes()[0].answers && !writer.nodes()[1].answers; }));
  EXPECT_EQ(writer.figures().waiting, 2u);
  writer.renew(next);
  EXPECT_EQ(writer.figures().waiting, 2u);
  EXPECT_TRUE(comes_true([&] {
    writer.tick();
    return threads() == before;
  })) << threads() - before;
  Writer::Figures figures = writer.figures();
  EXPECT_EQ(figures.queued, 2u);
  EXPECT_EQ(figures.dropped, 2u);
  EXPECT_EQ(figures.waiting, 0u);
  writer.push(0, 1);
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 1; })) << "by the new one";
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, OneOfBeforeAReloadSendsWhatItHasToANodeThatAnswers) {
  std::promise<void> release;
  std::atomic<bool> hangs = false;
  FramePusher writer(
      config_, std::make_shared<KeyRing>(),
      [&, end = release.get_future().share()](auto&, FrameSeq) {
        hangs = true;
        end.wait();
        return false;
      },
      1, 1);
  for (FrameSeq seq : {1, 2}) writer.push(0, seq);
  EXPECT_TRUE(comes_true([&] { return hangs.load(); }));
  Config next = config_;
  next.writer_timeout_ms = 1'234;
  writer.renew(next);
  for (int i = 0; i < 20; ++i, std::this_thread::sleep_for(5ms)) writer.tick();
  EXPECT_EQ(writer.figures().waiting, 2u);
  release.set_value();
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 2; }));
  EXPECT_EQ(writer.figures().dropped, 0u);
  EXPECT_TRUE(writer.stop());
}

TEST_F(FramePusherTest, TheLastWordOnANodeCounts) {
  config_.peers.push_back("unix:" + directory() + "/later");
  FramePusher writer(config_, std::make_shared<KeyRing>(), nobody_writes, 1);
  for (FrameSeq seq : {1, 2}) writer.push(0, seq);
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 2; }));
  EXPECT_TRUE(comes_true([&] { return !writer.nodes()[1].answers; }));
  std::filesystem::create_directory_symlink(runtime(), directory() + "/later");
  for (FrameSeq seq : {1, 2}) writer.push(1, seq);
  EXPECT_TRUE(comes_true([&] { return writer.figures().pushed == 4; }));
  EXPECT_TRUE(writer.nodes()[1].answers);
  EXPECT_EQ(writer.nodes()[1].pushed, 1u);
  EXPECT_EQ(writer.nodes()[0].pushed, 3u);
  EXPECT_TRUE(writer.stop());
}

}  // namespace
}  // namespace zazen
