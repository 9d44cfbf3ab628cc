// So many directories that one thread takes longer than it is given alone: each is looked at
// once, whoever does it.
#include "coord/job/directory_looks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace zazen {
namespace {

TEST(DirectoryLooks, EachDatasetHasTheStateOfItsOwnDirectory) {
  char root[] = "/tmp/zazen-looks-XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const std::string top = root;
  std::filesystem::create_directories(top + "/a/run1");
  std::filesystem::create_directory(top + "/b");
  std::ofstream(top + "/file").put('x');

  std::vector<NamedDataset> datasets;
  for (int i = 0; i < 5'000; ++i) {
    datasets.push_back({top + "/a", "f{seq}"});
    datasets.push_back({top + "/a", "run1/f{seq}"});
    datasets.push_back({top + "/b", "f{seq}"});
    datasets.push_back({top + "/missing", "f{seq}"});
    datasets.push_back({top + "/file", "f{seq}"});
  }
  const std::vector<DirectoryState> states = look_at_directories(datasets);
  ASSERT_EQ(states.size(), datasets.size());
  auto inode = [&top](const char* name) {
    struct stat st = {};
    stat((top + name).c_str(), &st);
    return st.st_ino;
  };
  const std::uint64_t inodes[] = {inode("/a"), inode("/a/run1"), inode("/b"), 0, 0};
  const int codes[] = {0, 0, 0, ENOENT, ENOTDIR};
  for (std::size_t i = 0; i < states.size(); ++i) {
    ASSERT_EQ(states[i].code, codes[i % 5]) << i;
    ASSERT_EQ(states[i].identity.ino, inodes[i % 5]) << i;
  }
  std::filesystem::remove_all(top);
}

TEST(DirectoryLooks, NoDatasetsAreNoStates) {
  EXPECT_TRUE(look_at_directories({}).empty());
}

}  // namespace
}  // namespace zazen
