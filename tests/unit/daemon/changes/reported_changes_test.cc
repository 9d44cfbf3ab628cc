// Notices about copies of a real store.
#include "daemon/changes/reported_changes.h"

#include <nlohmann/json.hpp>

#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

class ReportedChangesTest : public FilledStore {
 protected:
  static constexpr std::uint64_t kOwn = 1, kOther = 2;

  void SetUp() override {
    FilledStore::SetUp();
    start();
  }
  void start() {
    changes_ = std::make_unique<ReportedChanges>(
        config_, *store_, history_, kOwn,
        ReportedChanges::Hooks{
            [this](std::uint32_t dataset) { doubted_.push_back(dataset); },
            [this](std::uint32_t, const Frames& frames) { compared_ = frames; }});
  }

  int tell(NoticeKind kind, std::vector<FrameNews> frames = {}, std::uint64_t life = kOther) {
    const bool is_hello = kind == NoticeKind::kHello;
    return changes_->take(
        encode(ChangeNotice{kind, life, "n1", is_hello ? "" : origin(), std::move(frames)}));
  }
  int tell_of(FrameSeq seq, const FrameVersion& version, std::uint32_t age_ms = 0) {
    return tell(NoticeKind::kFrames, {{name(seq), version, age_ms}});
  }
  FrameVersion version(FrameSeq seq) const {
    struct stat st = {};
    ::stat(origin(name(seq)).c_str(), &st);
    return {false, static_cast<std::uint64_t>(st.st_size), to_ns(st.st_mtim),
            to_ns(st.st_ctim)};
  }
  std::string why(FrameSeq seq) const {
    nlohmann::json said = nlohmann::json::parse(history_.json(0, seq));
    return said["dropped"].is_null() ? "" : said["dropped"]["why"].get<std::string>();
  }

  DropHistory history_;
  std::vector<std::uint32_t> doubted_;
  Frames compared_;
  std::unique_ptr<ReportedChanges> changes_;
};

const Frames kAll = {1, 2, 3, 4, 5};

TEST_F(ReportedChangesTest, ACopyOfThePresentVersionStays) {
  EXPECT_EQ(tell_of(2, version(2)), 0);
  EXPECT_EQ(held(), kAll);
  EXPECT_EQ(why(2), "");
  EXPECT_EQ(compared_, Frames{});
}

TEST_F(ReportedChangesTest, ACopyOfAnOlderVersionGoes) {
  rewrite(2);
  EXPECT_EQ(tell_of(2, version(2)), 0);
  EXPECT_EQ(held(), (Frames{1, 3, 4, 5}));
  EXPECT_FALSE(exists(copy("f2")));
  EXPECT_EQ(why(2), "node n1 reported that it was changed");
  EXPECT_EQ(changes_->figures().dropped, 1u);
}

// A copy that was fetched since is no older than the notice.
TEST_F(ReportedChangesTest, ACopyOfANewerVersionIsCompared) {
  const FrameVersion before = version(2);
  rewrite(2);
  store_->drop(0, Frames{2});
  fill(2);
  EXPECT_EQ(tell_of(2, before), 0);
  EXPECT_EQ(held(), kAll);
  EXPECT_EQ(compared_, Frames{2});
}

TEST_F(ReportedChangesTest, TheCopyOfAFrameThatIsGoneGoes) {
  EXPECT_EQ(tell_of(3, {.gone = true}), 0);
  EXPECT_EQ(held(), (Frames{1, 2, 4, 5}));
  EXPECT_EQ(why(3), "node n1 reported that it was removed");
}

TEST_F(ReportedChangesTest, ACopyThatCameAfterTheFrameWasGoneIsCompared) {
  EXPECT_EQ(tell_of(3, {.gone = true}, 60'000), 0);
  EXPECT_EQ(held(), kAll);
  EXPECT_EQ(compared_, Frames{3});
}

TEST_F(ReportedChangesTest, ACopyThatCameLateIsLookedAtAgain) {
  const FrameVersion before = version(4);
  rewrite(4);
  store_->drop(0, Frames{4});
  EXPECT_EQ(tell_of(4, version(4)), 0);
  // A fill that had read the frame before: its copy has the old version.
  const std::string now = read_file(origin("f4"));
  fill(4);
  UniqueFd file(::open(copy("f4").c_str(), O_RDONLY));
  OriginIdentity identity = {};
  ASSERT_EQ(read_identity(file.get(), &identity), 0);
  identity.ctime_ns = before.ctime_ns;
  ::fchmod(file.get(), 0600);
  ASSERT_EQ(write_identity(file.get(), identity), 0);
  ::fchmod(file.get(), kCopyMode);
  changes_->look_again();
  EXPECT_EQ(held(), kAll) << "not yet";
  ::usleep(ReportedChanges::kAgainMs * 1'000 + 50'000);
  changes_->look_again();
  EXPECT_EQ(held(), (Frames{1, 2, 3, 5}));
}

TEST_F(ReportedChangesTest, WhatNamesNothingOfOursIsPassedOver) {
  rewrite(2);
  const FrameVersion news = version(2);
  std::vector<FrameNews> strange = {{"f02", news, 0}, {"../f2", news, 0}, {"x", news, 0}};
  EXPECT_EQ(tell(NoticeKind::kFrames, strange), 0);
  EXPECT_EQ(changes_->take(encode(ChangeNotice{
                NoticeKind::kFrames, kOther, "n1", "/elsewhere", {{"f2", news, 0}}})),
            0);
  EXPECT_EQ(held(), kAll);
}

TEST_F(ReportedChangesTest, NonsenseIsRefused) {
  EXPECT_EQ(changes_->take(""), EINVAL);
  EXPECT_EQ(changes_->take("nonsense"), EINVAL);
  EXPECT_EQ(doubted_.size(), 0u);
}

TEST_F(ReportedChangesTest, OneDoesNotTellOneself) {
  EXPECT_EQ(tell(NoticeKind::kHello, {}, kOwn), ELOOP);
  EXPECT_EQ(doubted_.size(), 0u);
}

TEST_F(ReportedChangesTest, WhoIsMetForTheFirstTimeCastsDoubt) {
  EXPECT_EQ(tell(NoticeKind::kHello), 0);
  EXPECT_EQ(doubted_, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(tell(NoticeKind::kHello), 0);
  EXPECT_EQ(doubted_.size(), 1u) << "it was met before";
  start();  // also before a restart
  EXPECT_EQ(tell(NoticeKind::kHello), 0);
  EXPECT_EQ(doubted_.size(), 1u);
  EXPECT_EQ(tell(NoticeKind::kHello, {}, kOther + 1), 0);
  EXPECT_EQ(doubted_.size(), 2u) << "another life";
}

TEST_F(ReportedChangesTest, ADatasetMayBeDistrusted) {
  tell(NoticeKind::kHello);
  doubted_.clear();
  EXPECT_EQ(tell(NoticeKind::kDistrust), 0);
  EXPECT_EQ(doubted_, (std::vector<std::uint32_t>{0}));
  EXPECT_NE(history_.json(0, 1).find("n1 could not tell"), std::string::npos);
}

TEST(KnownLives, ForgetsTheOldest) {
  char pattern[] = "/tmp/zazend-lives-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern), nullptr);
  UniqueFd directory(::open(pattern, O_RDONLY | O_DIRECTORY));
  {
    KnownLives lives(directory.get());
    for (std::uint64_t i = 0; i <= KnownLives::kMost; ++i) lives.remember(100 + i);
  }
  KnownLives lives(directory.get());
  EXPECT_FALSE(lives.has_met(100));
  EXPECT_TRUE(lives.has_met(101));
  EXPECT_TRUE(lives.has_met(100 + KnownLives::kMost));
  std::filesystem::remove_all(pattern);
}

TEST(DropHistory, RemembersTheLast) {
  DropHistory history;
  for (FrameSeq seq = 0; seq <= DropHistory::kMostFrames; ++seq)
    history.note_drop(0, seq, "why");
  EXPECT_EQ(history.json(0, 0).find("why"), std::string::npos);
  EXPECT_NE(history.json(0, 1).find("why"), std::string::npos);
  EXPECT_EQ(history.json(1, 1).find("why"), std::string::npos) << "another dataset";
  history.note_drop(0, 1, "again");
  EXPECT_NE(history.json(0, 1).find("again"), std::string::npos);
}

}  // namespace
}  // namespace zazen
