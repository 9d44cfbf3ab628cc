#include "daemon/service/user_datasets.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "bodhi/common/unique_fd.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class UserDatasetsTest : public Scratch {
 protected:
  static DatasetConfig dataset(const std::string& path, const std::string& frames, uid_t uid) {
    DatasetConfig dataset;
    dataset.path = path;
    dataset.frames = frames;
    dataset.added_by = uid;
    return dataset;
  }
  std::string file() const { return cache() + "/" + UserDatasets::kFile; }

  UniqueFd directory_{::open(cache().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(UserDatasetsTest, AreThereAfterARestart) {
  UserDatasets written(directory_.get());
  EXPECT_TRUE(written.all().empty());
  ASSERT_EQ(written.add(dataset("/home/alice/t\xc3\xa4\"\\ x", "f\"{seq}\\", 1000)), 0);
  ASSERT_EQ(written.add(dataset("/home/bob/sim", "f{seq:06}.xtc", 4294967294U)), 0);
  ASSERT_EQ(written.add(dataset("/home/bob/sim", "g{seq}", 1001)), 0);
  UserDatasets read(directory_.get());
  ASSERT_EQ(read.all().size(), 2U);
  EXPECT_EQ(read.all()[0].path, "/home/alice/t\xc3\xa4\"\\ x");
  EXPECT_EQ(read.all()[0].frames, "f\"{seq}\\");
  EXPECT_EQ(read.all()[0].added_by, 1000);
  ASSERT_NE(read.find("/home/bob/sim"), nullptr);
  EXPECT_EQ(read.find("/home/bob/sim")->frames, "g{seq}");
  ASSERT_EQ(read.remove("/home/bob/sim"), 0);
  EXPECT_EQ(UserDatasets(directory_.get()).find("/home/bob/sim"), nullptr);
  const std::filesystem::directory_iterator entries(cache());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1)
      << "nothing is left beside the file";
}

TEST_F(UserDatasetsTest, DamagedFileIsKeptAside) {
  for (const std::string text :
       {"[[dataset]\n", "[[dataset]]\npath = \"/a\"\nframes = \"f{seq}\"\n", "x = 1\n",
        "[[dataset]]\npath = \"a\"\nframes = \"f{seq}\"\nuid = 1\n", "dataset = [1]\n"}) {
    write_file(file(), text);
    UserDatasets datasets(directory_.get());
    EXPECT_TRUE(datasets.all().empty()) << text;
    EXPECT_EQ(read_file(file() + ".damaged"), text);
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
}

TEST_F(UserDatasetsTest, FailedWriteChangesNothing) {
  UserDatasets datasets(directory_.get());
  ASSERT_EQ(datasets.add(dataset("/a", "f{seq}", 1)), 0);
  std::filesystem::create_directory(file() + ".new");
  EXPECT_EQ(datasets.add(dataset("/b", "f{seq}", 1)), EISDIR);
  EXPECT_EQ(datasets.find("/b"), nullptr);
  EXPECT_EQ(datasets.remove("/a"), EISDIR);
  EXPECT_NE(datasets.find("/a"), nullptr);
  EXPECT_EQ(UserDatasets(directory_.get()).all().size(), 1U);
}

}  // namespace
}  // namespace zazen
