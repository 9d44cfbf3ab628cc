// D15: the rights of the dataset's own directories, and of those that frames have in their
// names.
#include "daemon/store.h"

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
    store_->mirror_own_rights(0);
    FinishedCopy copy;
    copy.seq = 1;
    copy.file = store_->make_temporary(0);
    copy.directories = {AccessList::everybody()};
    store_->publish(std::span(&copy, 1));
    ASSERT_EQ(copy.status, 0);
  }
  bool everybody_may_enter(const std::string& directory) const {
    struct stat st = {};
    return ::stat(directory.c_str(), &st) == 0 && (st.st_mode & S_IXOTH) != 0;
  }
};

TEST_F(StoreRightsTest, NamesHaveALookOfTheirOwn) {
  ASSERT_TRUE(everybody_may_enter(copy("d1")));
  ASSERT_EQ(::chmod(origin("d1").c_str(), 0700), 0);
  store_->mirror_own_rights(0);
  EXPECT_TRUE(everybody_may_enter(copy("d1"))) << "the dataset's own directories only";
  store_->mirror_rights_of_names(0);
  EXPECT_FALSE(everybody_may_enter(copy("d1")));
}

TEST_F(StoreRightsTest, SaysWhenEverybodyMayEnterFromNowOn) {
  EXPECT_FALSE(store_->mirror_own_rights(0)) << "the scratch directory is our own";
  for (std::string path : {directory(), origin()}) ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_TRUE(store_->mirror_own_rights(0));
  EXPECT_FALSE(store_->mirror_own_rights(0)) << "it is as it was";
  ASSERT_EQ(::chmod(origin().c_str(), 0700), 0);
  EXPECT_FALSE(store_->mirror_own_rights(0));
  ASSERT_EQ(::chmod(origin().c_str(), 0755), 0);
  EXPECT_TRUE(store_->mirror_own_rights(0));
}

}  // namespace
}  // namespace zazen
