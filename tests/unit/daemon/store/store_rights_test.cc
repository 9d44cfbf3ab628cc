// D15: the rights of the dataset's own directories, and of those that frames have in their
// names.
#include "daemon/store/store.h"

#include "daemon/disk/copy_seal.h"
#include "daemon/worker/origins/origin.h"
#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

class StoreRightsTest : public FilledStore {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root serves all users";
    config_.all_users = true;
    use_template("d{seq}/f");
    open_store();
    write_file(origin("d1/f"), content());
    ASSERT_EQ(::chmod(origin("d1").c_str(), 0755), 0);
    mirror_here(*store_, config_, 0);
    FinishedCopy copy;
    copy.seq = 1;
    copy.file = store_->make_temporary(0);
    UniqueFd frame = find_named(config_.datasets[0], "d1/f", O_PATH, &copy.reached);
    struct stat st = {};
    ASSERT_EQ(::fstat(frame.get(), &st), 0);
    ASSERT_EQ(seal_copy(copy.file.fd(), identity_of(st, copy.kind, 0), st.st_atim, st.st_mtim),
              0);
    store_->name_copies(std::span(&copy, 1));
    store_->confirm_copies(std::span(&copy, 1));
    ASSERT_EQ(copy.status, 0);
  }
  void replace_origin() {
    ASSERT_EQ(std::rename(origin().c_str(), (directory() + "/before").c_str()), 0);
    write_file(origin("d5/f"), content());
    ASSERT_EQ(::chmod(origin().c_str(), 0755), 0);
  }
  bool everybody_may_enter(const std::string& directory) const {
    struct stat st = {};
    return ::stat(directory.c_str(), &st) == 0 && (st.st_mode & S_IXOTH) != 0;
  }
};

TEST_F(StoreRightsTest, NamesHaveALookOfTheirOwn) {
  ASSERT_TRUE(everybody_may_enter(copy("d1")));
  ASSERT_EQ(::chmod(origin("d1").c_str(), 0700), 0);
  mirror_here(*store_, config_, 0);
  EXPECT_TRUE(everybody_may_enter(copy("d1"))) << "the dataset's own directories only";
  const Frames frames = store_->next_names_to_mirror(0);
  store_->mirror_rights_of_names(0, frames, {frame_rights(config_.datasets[0], "d1/f")});
  EXPECT_FALSE(everybody_may_enter(copy("d1")));
}

TEST_F(StoreRightsTest, SaysWhenEverybodyMayEnterFromNowOn) {
  auto says_so = [this] {
    mirror_here(*store_, config_, 0);
    const bool is_due = store_->is_index_due(0);
    store_->reconcile(0);
    return is_due;
  };
  EXPECT_FALSE(says_so()) << "the scratch directory is our own";
  for (std::string path : {directory(), origin()}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_TRUE(says_so());
  EXPECT_FALSE(says_so()) << "it is as it was";
  ASSERT_EQ(::chmod(origin().c_str(), 0700), 0);
  EXPECT_FALSE(says_so());
  ASSERT_EQ(::chmod(origin().c_str(), 0755), 0);
  EXPECT_TRUE(says_so());
}

TEST_F(StoreRightsTest, AFrameFoundElsewhereGetsNoName) {
  write_file(directory() + "/elsewhere/d2/f", content());
  DatasetConfig elsewhere = config_.datasets[0];
  elsewhere.path = directory() + "/elsewhere";
  FinishedCopy copy;
  copy.seq = 2;
  copy.file = store_->make_temporary(0);
  ASSERT_TRUE(find_named(elsewhere, "d2/f", O_PATH, &copy.reached).valid());
  store_->name_copies(std::span(&copy, 1));
  store_->confirm_copies(std::span(&copy, 1));
  EXPECT_EQ(copy.status, EAGAIN);
  EXPECT_FALSE(exists(this->copy("d2/f")));
}

TEST_F(StoreRightsTest, CopiesOfAnotherDirectoryAreDropped) {
  mirror_here(*store_, config_, 0);
  ASSERT_TRUE(store_->find(0, 1)) << "it is the same directory";
  replace_origin();
  mirror_here(*store_, config_, 0);
  EXPECT_FALSE(store_->find(0, 1));
  EXPECT_FALSE(exists(copy("d1/f")));
}

TEST_F(StoreRightsTest, ALinkToTheRootDirectoryLeadsToAnotherDirectory) {
  ASSERT_EQ(std::rename(origin().c_str(), (directory() + "/before").c_str()), 0);
  ASSERT_EQ(::symlink("/", origin().c_str()), 0);
  mirror_here(*store_, config_, 0);
  EXPECT_FALSE(store_->find(0, 1));
  EXPECT_FALSE(exists(copy("d1/f")));
}

TEST_F(StoreRightsTest, CopiesStayClosedWhileTheirFileSystemMayNotBeMounted) {
  for (std::string path : {directory(), origin()}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  mirror_here(*store_, config_, 0);
  ASSERT_TRUE(everybody_may_enter(copy("")));
  const std::string before = directory() + "/before";
  ASSERT_EQ(std::rename(origin().c_str(), before.c_str()), 0);
  ASSERT_EQ(::mkdir(origin().c_str(), 0755), 0);
  for (int look = 0; look < 2; ++look) {
    mirror_here(*store_, config_, 0);
    EXPECT_TRUE(store_->find(0, 1));
    EXPECT_FALSE(everybody_may_enter(copy("")));
    open_store();  // also if no daemon has run meanwhile
  }
  ASSERT_EQ(::rmdir(origin().c_str()), 0);
  ASSERT_EQ(std::rename(before.c_str(), origin().c_str()), 0);
  mirror_here(*store_, config_, 0);
  EXPECT_TRUE(exists(copy("d1/f")));
  EXPECT_TRUE(everybody_may_enter(copy("")));
}

TEST_F(StoreRightsTest, ADirectoryUnderAFramesNameClosesNothing) {
  std::filesystem::create_directories(copy("d7/f"));
  for (std::string path : {directory(), origin()}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  replace_origin();
  mirror_here(*store_, config_, 0);
  EXPECT_FALSE(exists(copy("d1/f")));
  EXPECT_TRUE(everybody_may_enter(copy("")));
}

TEST_F(StoreRightsTest, SoAreThoseOfADirectoryThatWasReplacedWithoutADaemon) {
  open_store();
  mirror_here(*store_, config_, 0);
  ASSERT_TRUE(exists(copy("d1/f"))) << "it is the same directory";
  replace_origin();
  open_store();
  mirror_here(*store_, config_, 0);
  EXPECT_FALSE(exists(copy("d1/f")));
}

}  // namespace
}  // namespace zazen
