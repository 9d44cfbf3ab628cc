#include "bodhi/lean/frames/view.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

// Two datasets. The first: domain 0, 2, ..., 198 (100 frames), 1000, 1001, 2^64-1; own
// frames 2, 6, 10 and 1001; names "." and "a b". The second is empty.
class ViewImage {
 public:
  static constexpr std::size_t kRuns = 0, kOwn = 4 * 32, kNames = kOwn + 2 * 32;
  static constexpr std::size_t kText = kNames + 2 * 16;
  static constexpr std::size_t kSize = sizeof(View) + 2 * sizeof(ViewDataset) + kText + 8;
  static constexpr std::size_t kBitmap = sizeof(Tally) + 2 * sizeof(TallyDataset);

  ViewImage() : words_((kSize + 7) / 8) {
    View& view = get();
    view.magic = kViewMagic;
    view.version = kViewVersion;
    view.dataset_count = 2;
    view.file_size = kSize;
    view.tally_size = kBitmap + 2 * 8;
    view.rank = 3;
    view.ranks = 4;
    view.nodes = 2;
    std::uint64_t base = sizeof(View) + 2 * sizeof(ViewDataset);
    for (int i : {0, 1}) {
      ViewDataset& dataset = view.datasets[i];
      std::snprintf(dataset.path, kMaxPath, "/sim%d", i);
      std::strcpy(dataset.frames, "f{seq}");
      dataset.entry_type = DT_REG;
      dataset.runs_offset = dataset.own_offset = dataset.names_offset = base;
      dataset.opened_offset = kBitmap;
    }
    ViewDataset& first = view.datasets[0];
    first.domain_count = 103;
    first.runs_offset = base + kRuns;
    first.runs_count = 3;
    first.own_offset = base + kOwn;
    first.own_runs = 2;
    first.own_count = 4;
    first.names_offset = base + kNames;
    first.names_count = 2;
    runs()[0] = {0, 2, 100, 0};
    runs()[1] = {1000, 1, 2, 100};
    runs()[2] = {UINT64_MAX, 1, 1, 102};
    own()[0] = {2, 11, 0, 4, -3};
    own()[1] = {1001, 12, 3, 1, 0};
    names()[0] = {1, static_cast<std::uint32_t>(base + kText), DT_DIR};
    names()[1] = {2, static_cast<std::uint32_t>(base + kText + 2), DT_REG};
    std::memcpy(text(), ".\0a b\0", 6);
  }

  View& get() { return *reinterpret_cast<View*>(words_.data()); }
  ViewRun* runs() { return reinterpret_cast<ViewRun*>(body() + kRuns); }
  ViewOwnRun* own() { return reinterpret_cast<ViewOwnRun*>(body() + kOwn); }
  ViewName* names() { return reinterpret_cast<ViewName*>(body() + kNames); }
  char* text() { return body() + kText; }
  bool valid() { return view_is_valid(&get(), kSize); }
  std::string bytes() { return {reinterpret_cast<const char*>(words_.data()), kSize}; }
  std::string tally_bytes() {
    std::string bytes(get().tally_size, '\0');
    std::memcpy(bytes.data(), &kViewMagic, sizeof kViewMagic);
    return bytes;
  }

 private:
  char* body() {
    return reinterpret_cast<char*>(words_.data()) + sizeof(View) + 2 * sizeof(ViewDataset);
  }
  std::vector<std::uint64_t> words_;
};

TEST(View, SoundViewIsValid) {
  EXPECT_TRUE(ViewImage().valid());
}

TEST(View, EachDamagedFieldIsSeen) {
  using Image = ViewImage&;
  auto first = [](Image i) -> ViewDataset& { return i.get().datasets[0]; };
  std::pair<const char*, std::function<void(Image)>> damages[] = {
      {"magic", [](Image i) { i.get().magic ^= 1; }},
      {"version", [](Image i) { i.get().version = 9; }},
      {"file_size", [](Image i) { i.get().file_size -= 1; }},
      {"dataset_count", [](Image i) { i.get().dataset_count = 3; }},
      {"huge dataset_count", [](Image i) { i.get().dataset_count = UINT32_MAX; }},
      {"tally_size", [](Image i) { i.get().tally_size -= 8; }},
      {"no tally", [](Image i) { i.get().tally_size = 0; }},
      {"negative rank", [](Image i) { i.get().rank = -1; }},
      {"rank", [](Image i) { i.get().rank = 4; }},
      {"nodes", [](Image i) { i.get().nodes = -1; }},
      {"node_name", [](Image i) { std::memset(i.get().node_name, 'x', kMaxNodeName); }},
      {"path", [&](Image i) { std::memset(first(i).path, '/', kMaxPath); }},
      {"relative path", [&](Image i) { std::strcpy(first(i).path, "sim"); }},
      {"template", [&](Image i) { std::strcpy(first(i).frames, "f"); }},
      {"endless template", [&](Image i) { std::memset(first(i).frames, 'f', kMaxTemplate); }},
      {"domain_count", [&](Image i) { first(i).domain_count -= 1; }},
      {"huge domain_count", [&](Image i) { first(i).domain_count = UINT64_MAX; }},
      {"runs_offset beyond", [&](Image i) { first(i).runs_offset = ViewImage::kSize + 8; }},
      {"runs_offset within the header", [&](Image i) { first(i).runs_offset = 0; }},
      {"unaligned runs_offset", [&](Image i) { first(i).runs_offset += 4; }},
      {"unaligned empty array", [](Image i) { i.get().datasets[1].own_offset += 4; }},
      {"huge runs_offset", [&](Image i) { first(i).runs_offset = UINT64_MAX - 7; }},
      {"huge runs_count", [&](Image i) { first(i).runs_count = UINT64_MAX / 32; }},
      {"own_offset", [&](Image i) { first(i).own_offset = ViewImage::kSize; }},
      {"huge own_runs", [&](Image i) { first(i).own_runs = UINT64_MAX / 32 + 1; }},
      {"own_count without runs", [](Image i) { i.get().datasets[1].own_count = 1; }},
      {"own_count that ends before the last run", [&](Image i) { first(i).own_count = 3; }},
      {"own run's index", [](Image i) { i.own()[0].index = 1; }},
      {"empty own run", [](Image i) { i.own()[1].index = 0; }},
      {"own run's stride", [](Image i) { i.own()[1].stride = 0; }},
      {"own run's overflow",
       [&](Image i) {
         i.own()[1].first = UINT64_MAX;
         first(i).own_count = 5;
       }},
      {"own run's huge count", [&](Image i) { first(i).own_count = UINT64_MAX; }},
      {"names_offset", [&](Image i) { first(i).names_offset = ViewImage::kSize - 8; }},
      {"names that descend", [](Image i) { std::swap(i.names()[0], i.names()[1]); }},
      {"a name twice", [](Image i) { i.names()[1] = i.names()[0]; }},
      {"huge names_count", [&](Image i) { first(i).names_count = 1'000'000; }},
      {"opened_offset within the tally's header", [&](Image i) { first(i).opened_offset = 8; }},
      {"opened_offset too far", [&](Image i) { first(i).opened_offset += 8; }},
      {"unaligned opened_offset", [&](Image i) { first(i).opened_offset += 1; }},
      {"run's stride", [](Image i) { i.runs()[0].stride = 0; }},
      {"run's count", [](Image i) { i.runs()[2].count = 0; }},
      {"run's index", [](Image i) { i.runs()[1].index = 99; }},
      {"run's overflow",
       [](Image i) {
         i.runs()[2] = {UINT64_MAX, 1, 2, 102};
       }},
      {"run's large stride", [](Image i) { i.runs()[0].stride = UINT64_MAX / 2; }},
      {"runs that overlap", [](Image i) { i.runs()[1].first = 198; }},
      {"own runs that overlap", [](Image i) { i.own()[1].first = 10; }},
      {"name beyond", [](Image i) { i.names()[1].name_offset = ViewImage::kSize; }},
      {"name without an end", [](Image i) { std::memset(i.text(), 'x', 8); }},
      {"empty name", [](Image i) { i.text()[2] = '\0'; }},
      {"name with a slash", [](Image i) { i.text()[3] = '/'; }},
  };
  for (const auto& [what, damage] : damages) {
    ViewImage image;
    damage(image);
    EXPECT_FALSE(image.valid()) << what;
  }
  ViewImage image;
  for (std::size_t size = 0; size < ViewImage::kSize; size += 3) {
    EXPECT_FALSE(view_is_valid(&image.get(), size)) << size;
  }
}

TEST(View, OwnFrames) {
  ViewImage image;
  const View& view = image.get();
  const ViewFrame own[] = {{2, 11}, {6, 8}, {10, 5}, {1001, 12}};
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(own_frame(view, view.datasets[0], i).seq, own[i].seq);
    EXPECT_EQ(own_frame(view, view.datasets[0], i).ino, own[i].ino);
  }
  for (FrameSeq seq : {FrameSeq{2}, FrameSeq{6}, FrameSeq{10}, FrameSeq{1001}}) {
    EXPECT_TRUE(is_own(view, view.datasets[0], seq)) << seq;
  }
  for (FrameSeq seq : {FrameSeq{0}, FrameSeq{1}, FrameSeq{3}, FrameSeq{4}, FrameSeq{14},
                       FrameSeq{1000}, FrameSeq{1002}, FrameSeq{UINT64_MAX}}) {
    EXPECT_FALSE(is_own(view, view.datasets[0], seq)) << seq;
  }
  EXPECT_FALSE(is_own(view, view.datasets[1], 2));
}

TEST(View, DomainIndex) {
  ViewImage image;
  const View& view = image.get();
  const ViewDataset& first = view.datasets[0];
  for (FrameSeq i = 0; i < 100; ++i) {
    EXPECT_EQ(domain_index(view, first, 2 * i), static_cast<std::int64_t>(i));
    EXPECT_EQ(domain_index(view, first, 2 * i + 1), -1);
  }
  EXPECT_EQ(domain_index(view, first, 200), -1);
  EXPECT_EQ(domain_index(view, first, 999), -1);
  EXPECT_EQ(domain_index(view, first, 1000), 100);
  EXPECT_EQ(domain_index(view, first, 1001), 101);
  EXPECT_EQ(domain_index(view, first, 1002), -1);
  EXPECT_EQ(domain_index(view, first, UINT64_MAX), 102);
  EXPECT_EQ(domain_index(view, view.datasets[1], 0), -1);
  image.runs()[0] = {10, 2, 100, 0};
  EXPECT_EQ(domain_index(view, first, 9), -1);
}

class MapViewTest : public testing::Test {
 protected:
  MapViewTest() { write_both(); }
  ~MapViewTest() override {
    if (view_ != nullptr) unmap_view(view_, tally_);
  }
  void write_both() {
    ViewImage image;
    std::filesystem::remove(scratch_ / kViewFile);  // it is read-only
    write_file(scratch_ / kViewFile, image.bytes());
    write_file(scratch_ / kTallyFile, image.tally_bytes());
    ::chmod((scratch_ / kViewFile).c_str(), 0400);
    ::chmod((scratch_ / kTallyFile).c_str(), 0600);
  }
  bool can_be_mapped() {
    const View* view;
    Tally* tally;
    if (!map_view(scratch_.path().c_str(), &view, &tally)) return false;
    unmap_view(view, tally);
    return true;
  }

  Scratch scratch_;
  const View* view_ = nullptr;
  Tally* tally_ = nullptr;
};

TEST_F(MapViewTest, MarksWhatWasOpened) {
  std::size_t files = entries_in("/proc/self/fd");
  errno = EDOM;
  ASSERT_TRUE(map_view(scratch_.path().c_str(), &view_, &tally_));
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(entries_in("/proc/self/fd"), files);
  const ViewDataset& first = view_->datasets[0];
  EXPECT_EQ(own_frame(*view_, first, 3).seq, 1001u);
  EXPECT_EQ(other_names(*view_, first)[1].ino, 2u);
  for (const char* name : {".", "a b"}) EXPECT_TRUE(has_name(*view_, first, name)) << name;
  for (const char* name : {"", "..", "a", "a b c", "b"}) {
    EXPECT_FALSE(has_name(*view_, first, name)) << name;
  }
  EXPECT_FALSE(has_name(*view_, view_->datasets[1], "."));

  mark_opened(*view_, tally_, first, 2);  // index 1
  mark_opened(*view_, tally_, first, 2);
  mark_opened(*view_, tally_, first, 128);         // index 64
  mark_opened(*view_, tally_, first, UINT64_MAX);  // index 102
  mark_opened(*view_, tally_, first, 3);
  mark_opened(*view_, tally_, view_->datasets[1], 3);
  mark_opened(*view_, tally_, view_->datasets[1], 3);
  EXPECT_EQ(opened_words(tally_, first)[0], 2u);
  EXPECT_EQ(opened_words(tally_, first)[1], 1u | 1ULL << 38);
  EXPECT_EQ(tally_->datasets[0].opened_outside, 1u);
  EXPECT_EQ(tally_->datasets[1].opened_outside, 2u);

  // The tally is on file: another process sees it.
  std::string bytes = read_file(scratch_ / kTallyFile);
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + ViewImage::kBitmap, sizeof word);
  EXPECT_EQ(word, 2u);
}

TEST_F(MapViewTest, NotIfOthersCouldHaveWrittenIt) {
  ASSERT_TRUE(can_be_mapped());
  ::chmod((scratch_ / kViewFile).c_str(), 0420);
  EXPECT_FALSE(can_be_mapped());
  ::chmod((scratch_ / kViewFile).c_str(), 0400);
  ::chmod((scratch_ / kTallyFile).c_str(), 0602);
  EXPECT_FALSE(can_be_mapped());
  ::chmod((scratch_ / kTallyFile).c_str(), 0600);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((scratch_ / kViewFile).c_str(), 12345, 12345), 0);
  EXPECT_FALSE(can_be_mapped());
}

TEST_F(MapViewTest, NotIfOneIsMissingOrDamaged) {
  ViewImage image;
  std::string tally = image.tally_bytes();
  write_file(scratch_ / kTallyFile, tally.substr(0, tally.size() - 1));
  EXPECT_FALSE(can_be_mapped());
  write_file(scratch_ / kTallyFile, std::string(tally.size(), '\0'));
  EXPECT_FALSE(can_be_mapped());
  write_file(scratch_ / kTallyFile, "");
  EXPECT_FALSE(can_be_mapped());
  std::filesystem::remove(scratch_ / kTallyFile);
  EXPECT_FALSE(can_be_mapped());
  write_both();
  EXPECT_TRUE(can_be_mapped());
  std::filesystem::remove(scratch_ / kViewFile);
  EXPECT_FALSE(can_be_mapped());
  image.get().magic = 0;
  write_file(scratch_ / kViewFile, image.bytes());
  EXPECT_FALSE(can_be_mapped());
  EXPECT_FALSE(map_view((scratch_ / "none").c_str(), &view_, &tally_));
  EXPECT_FALSE(map_view(std::string(5000, '/').c_str(), &view_, &tally_));
}

}  // namespace
}  // namespace zazen
