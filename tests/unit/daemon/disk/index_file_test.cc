// The identity index. A reader finds the copies that the daemon adds, by inode and change time,
// and none that has gone. This holds however often the index grows, and while it is written.
#include "daemon/disk/index_file.h"

#include <sys/mman.h>

#include <thread>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr std::uint32_t kTiny = 4;  // 16 slots

class IndexFileTest : public Scratch {
 protected:
  static struct stat local(ino_t ino, std::int64_t ctime_ns) {
    struct stat st = {};
    st.st_ino = ino;
    st.st_size = 7;
    st.st_ctim = {ctime_ns / 1'000'000'000, ctime_ns % 1'000'000'000};
    return st;
  }
  static OriginIdentity origin(std::uint64_t ino) {
    OriginIdentity identity = {};
    identity.version = kIdentityVersion;
    identity.mode = S_IFREG | 0640;
    identity.uid = 12;
    identity.gid = 34;
    identity.size = 7;
    identity.ino = ino;
    identity.mtime_ns = -5;
    identity.ctime_ns = 6;
    identity.links = 3;
    identity.blocks = 8;
    return identity;
  }
  const IdentityIndex* map(const IndexFile& file) {
    return map_index(runtime().c_str(), file.instance());
  }
  static void unmap(const IdentityIndex* index) {
    ::munmap(const_cast<IdentityIndex*>(index), index_size(index->slots_log2));
  }
};

TEST_F(IndexFileTest, AddedIsFoundWithEveryField) {
  IndexFile file(runtime());
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(find_entry(*index, local(5, 100)), nullptr);
  file.add(2, local(5, 100), origin(77));
  const IndexEntry* entry = find_entry(*index, local(5, 100));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dataset, 2);
  OriginIdentity found = identity_of(*entry, local(5, 100)), wanted = origin(77);
  EXPECT_EQ(std::memcmp(&found, &wanted, sizeof found), 0);
  unmap(index);
}

TEST_F(IndexFileTest, AnotherChangeTimeIsAnotherFile) {
  IndexFile file(runtime());
  file.add(0, local(5, 100), origin(77));
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(find_entry(*index, local(5, 101)), nullptr);
  file.add(0, local(5, 101), origin(78));
  EXPECT_EQ(find_entry(*index, local(5, 100)), nullptr);
  ASSERT_NE(find_entry(*index, local(5, 101)), nullptr);
  EXPECT_EQ(find_entry(*index, local(5, 101))->ino, 78u);
  unmap(index);
}

TEST_F(IndexFileTest, RemovedIsNotFoundAndHidesNoOther) {
  IndexFile file(runtime(), kTiny);
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  for (ino_t ino : {1, 17, 33}) file.add(0, local(ino, 1), origin(ino));  // one slot's chain
  file.remove(17);
  EXPECT_NE(find_entry(*index, local(1, 1)), nullptr);
  EXPECT_EQ(find_entry(*index, local(17, 1)), nullptr);
  EXPECT_NE(find_entry(*index, local(33, 1)), nullptr);
  unmap(index);
}

TEST_F(IndexFileTest, ADatasetGoesAsAWhole) {
  constexpr ino_t kCopies = 100'000;  // in several parts
  IndexFile file(runtime());
  for (ino_t ino = 1; ino <= kCopies; ++ino) file.add(ino % 2, local(ino, 9), origin(ino));
  file.remove_dataset(1);
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  for (ino_t ino = 1; ino <= kCopies; ++ino) {
    EXPECT_EQ(find_entry(*index, local(ino, 9)) == nullptr, ino % 2 == 1) << ino;
  }
  unmap(index);
}

TEST_F(IndexFileTest, GrowsAndSaysSoInTheOldFile) {
  IndexFile file(runtime(), kTiny);
  const IdentityIndex* first = map(file);
  ASSERT_NE(first, nullptr);
  for (ino_t ino = 1; ino <= 10'000; ++ino) file.add(1, local(ino, 9), origin(ino + 1));
  EXPECT_EQ(first->superseded, 1u);
  const IdentityIndex* last = map(file);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->superseded, 0u);
  for (ino_t ino = 1; ino <= 10'000; ++ino) {
    const IndexEntry* entry = find_entry(*last, local(ino, 9));
    ASSERT_NE(entry, nullptr) << ino;
    EXPECT_EQ(entry->ino, ino + 1);
  }
  unmap(first);
  unmap(last);
}

TEST_F(IndexFileTest, ComingAndGoingDoesNotFillIt) {
  IndexFile file(runtime(), kTiny);
  for (ino_t ino = 1; ino <= 10'000; ++ino) {
    file.add(0, local(ino, 9), origin(ino));
    if (ino > 5) file.remove(ino - 5);
  }
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  EXPECT_LE(index->slots_log2, kTiny + 1);
  for (ino_t ino = 9'996; ino <= 10'000; ++ino) {
    EXPECT_NE(find_entry(*index, local(ino, 9)), nullptr) << ino;
  }
  unmap(index);
}

TEST_F(IndexFileTest, AnotherDaemonsFileAndADamagedOneAreNoIndex) {
  IndexFile file(runtime());
  EXPECT_EQ(map_index(runtime().c_str(), file.instance() + 1), nullptr);
  ASSERT_EQ(::truncate((runtime() + "/index").c_str(), 100), 0);
  EXPECT_EQ(map(file), nullptr);
}

TEST_F(IndexFileTest, IsGoneWithTheDaemon) {
  { IndexFile file(runtime()); }
  EXPECT_FALSE(std::filesystem::exists(runtime() + "/index"));
}

TEST_F(IndexFileTest, NeverShowsAHalfWrittenEntry) {
  IndexFile file(runtime(), kTiny + 12);
  const IdentityIndex* index = map(file);
  ASSERT_NE(index, nullptr);
  constexpr ino_t kCount = 20'000;
  std::thread writer([&] {
    for (ino_t ino = 1; ino <= kCount; ++ino) file.add(3, local(ino, 9), origin(ino * 3));
  });
  std::uint64_t found = 0;
  while (found < kCount) {
    found = 0;
    for (ino_t ino = 1; ino <= kCount; ++ino) {
      const IndexEntry* entry = find_entry(*index, local(ino, 9));
      if (entry == nullptr) continue;
      ++found;
      ASSERT_EQ(entry->ino, ino * 3);
      ASSERT_EQ(entry->blocks, 8u);
      ASSERT_EQ(entry->dataset, 3);
    }
  }
  writer.join();
  unmap(index);
}

}  // namespace
}  // namespace zazen
