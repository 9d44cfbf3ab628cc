#include "daemon/capacity/pins.h"

#include <fcntl.h>

#include <filesystem>
#include <limits>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using Ranges = std::vector<FrameRange>;
constexpr FrameSeq kLast = std::numeric_limits<FrameSeq>::max();

TEST(PinsTest, RangesThatMeetBecomeOne) {
  Pins pins;
  pins.pin({10, 19});
  pins.pin({30, 39});
  pins.pin({20, 25});
  EXPECT_EQ(pins.ranges(), (Ranges{{10, 25}, {30, 39}}));
  pins.pin({0, 5});
  pins.pin({26, 29});
  EXPECT_EQ(pins.ranges(), (Ranges{{0, 5}, {10, 39}}));
  pins.pin({0, kLast});
  pins.pin({kLast, kLast});
  EXPECT_EQ(pins.ranges(), (Ranges{{0, kLast}}));
}

TEST(PinsTest, UnpinLeavesWhatIsOutside) {
  Pins pins;
  pins.pin({0, kLast});
  pins.unpin({0, 9});
  pins.unpin({20, 29});
  pins.unpin({kLast, kLast});
  EXPECT_EQ(pins.ranges(), (Ranges{{10, 19}, {30, kLast - 1}}));
  for (FrameSeq inside : {10, 19, 30}) EXPECT_TRUE(pins.contains(inside));
  for (FrameSeq outside : {0, 9, 20, 29}) EXPECT_FALSE(pins.contains(outside));
  EXPECT_FALSE(pins.contains(kLast));
  pins.unpin({0, kLast});
  EXPECT_TRUE(pins.ranges().empty());
}

TEST(PinsTest, TextIsReadAsWritten) {
  Pins pins;
  pins.pin({1, 2});
  pins.pin({7, kLast});
  Result<Pins> again = Pins::parse(pins.text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ranges(), pins.ranges());
  EXPECT_TRUE(Pins::parse("").ok());
  for (const char* damaged :
       {"1\n", "1 2 3\n", "2 1\n", "x y\n", "1 99999999999999999999999\n"}) {
    EXPECT_FALSE(Pins::parse(damaged).ok()) << damaged;
  }
}

// ---- Companions

class PinnedCompanionsTest : public Scratch {
 protected:
  static DatasetConfig dataset(const std::string& also) {
    DatasetConfig dataset;
    dataset.frames = "f{seq}";
    dataset.also = also;
    const char* why = "";
    EXPECT_TRUE(
        FrameName::parse(dataset.frames.data(), dataset.frames.size(), &dataset.name, &why));
    EXPECT_TRUE(dataset.name.add_also(also.data(), also.size(), &why)) << why;
    return dataset;
  }
  static FrameRange one(const DatasetConfig& dataset, const std::string& name) {
    FrameSeq seq = 0;
    EXPECT_TRUE(dataset.name.match(name.data(), name.size(), &seq)) << name;
    return {seq, seq};
  }
  void SetUp() override {
    directory_.reset(::open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::filesystem::create_directory(directory() + "/.zazen");
  }
  std::vector<FrameRange> load(const DatasetConfig& dataset) {
    Result<Pins> pins = Pins::load(directory_.get(), dataset);
    EXPECT_TRUE(pins.ok());
    return pins->ranges();
  }

  UniqueFd directory_;
};

TEST_F(PinnedCompanionsTest, APinIsOfANameWhateverItsNumber) {
  const DatasetConfig before = dataset("*.pdb/*.psf"), after = dataset("*.psf/top.gro/*.pdb");
  Pins pins;
  pins.pin({3, 9});
  for (const char* name : {"a.pdb", "b.pdb", "a.psf"}) pins.pin(one(before, name));
  ASSERT_TRUE(pins.save(directory_.get(), before).ok());
  EXPECT_EQ(load(before), pins.ranges());
  Pins moved;
  moved.pin({3, 9});
  for (const char* name : {"a.pdb", "b.pdb", "a.psf"}) moved.pin(one(after, name));
  EXPECT_EQ(load(after), moved.ranges());
  EXPECT_NE(load(after), pins.ranges());
  EXPECT_EQ(load(dataset("*.gro")), (Ranges{{3, 9}})) << "nothing has these names any more";
  ASSERT_TRUE(moved.save(directory_.get(), after).ok());
  EXPECT_EQ(load(after), moved.ranges());
}

TEST_F(PinnedCompanionsTest, AWholeDatasetStaysPinnedButForWhatWasUnpinned) {
  const DatasetConfig before = dataset("*.pdb/*.psf"), after = dataset("*.psf/*.pdb");
  Pins pins;
  pins.pin({0, kLast});
  ASSERT_TRUE(pins.save(directory_.get(), before).ok());
  EXPECT_EQ(load(after), (Ranges{{0, kLast}}));
  pins.unpin({5, 5});
  pins.unpin(one(before, "a.psf"));
  ASSERT_TRUE(pins.save(directory_.get(), before).ok());
  const FrameSeq free = one(after, "a.psf").first;
  EXPECT_EQ(load(after), (Ranges{{0, 4}, {6, free - 1}, {free + 1, kLast}}));
}

}  // namespace
}  // namespace zazen
