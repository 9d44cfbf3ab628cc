// A flipped bit anywhere in a copy is found, and only that copy is dropped.
#include "daemon/validation/scrub.h"

#include <sys/mman.h>
#include <sys/xattr.h>

#include <limits>

#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

constexpr std::size_t kHole = 1 << 20;
constexpr FrameSeq kLast = std::numeric_limits<FrameSeq>::max();

class ScrubTest : public FilledStore {
 protected:
  std::string content() const override { return std::string(3'000'001, 'x'); }

  Verdict verdict(FrameSeq seq) { return scrub_copy(*store_, 0, seq, never_).verdict; }

  // As a disk, or a person who knows how, would change it.
  template <class Change>
  void change(FrameSeq seq, Change with) {
    UniqueFd fd(::open(copy(name(seq)).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fchmod(fd.get(), 0600), 0);
    UniqueFd writable(::open(copy(name(seq)).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(writable.valid());
    with(writable.get());
    ASSERT_EQ(::fchmod(fd.get(), kCopyMode), 0);
  }
  void flip(FrameSeq seq, off_t offset, char bit = 1) {
    change(seq, [&](int fd) {
      char byte = 0;
      ASSERT_EQ(::pread(fd, &byte, 1, offset), 1);
      byte = static_cast<char>(byte ^ bit);
      ASSERT_EQ(::pwrite(fd, &byte, 1, offset), 1);
    });
  }

  std::atomic<bool> never_ = false;
};

TEST_F(ScrubTest, FlippedBitsInTheContent) {
  EXPECT_EQ(verdict(1), Verdict::kGood);
  auto size = static_cast<off_t>(content().size());
  for (off_t offset : {off_t{0}, size / 2, off_t{1 << 20}, size - 1}) {
    flip(1, offset);
    EXPECT_EQ(verdict(1), Verdict::kChecksum) << offset;
    flip(1, offset);
    EXPECT_EQ(verdict(1), Verdict::kGood) << offset;
  }
  change(1, [&](int fd) { ASSERT_EQ(::ftruncate(fd, size - 1), 0); });
  EXPECT_EQ(verdict(1), Verdict::kSize);
  change(2, [&](int fd) { ASSERT_EQ(::ftruncate(fd, size + 1), 0); });
  EXPECT_EQ(verdict(2), Verdict::kSize);
  change(3, [&](int fd) { ASSERT_EQ(::ftruncate(fd, 0), 0); });
  EXPECT_EQ(verdict(3), Verdict::kSize);
}

TEST_F(ScrubTest, AFlippedBitInAHole) {
  UniqueFd sparse(::open(origin("f7").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(sparse.get(), 4 * kHole), 0);
  ASSERT_EQ(::pwrite(sparse.get(), "x", 1, 3 * kHole), 1);
  sparse.reset();
  fill(7);
  EXPECT_EQ(verdict(7), Verdict::kGood);
  flip(7, kHole);
  EXPECT_EQ(verdict(7), Verdict::kChecksum);
}

TEST_F(ScrubTest, EveryFlippedBitOfTheAttribute) {
  for (std::size_t bit = 0; bit < sizeof(OriginIdentity) * 8; ++bit) {
    auto flip_it = [&](int fd) {
      char value[sizeof(OriginIdentity)];
      ASSERT_EQ(::fgetxattr(fd, kIdentityAttribute, value, sizeof value), sizeof value);
      value[bit / 8] = static_cast<char>(value[bit / 8] ^ 1 << bit % 8);
      ASSERT_EQ(::fsetxattr(fd, kIdentityAttribute, value, sizeof value, 0), 0);
    };
    change(1, flip_it);
    EXPECT_EQ(verdict(1), Verdict::kIdentity) << bit;
    change(1, flip_it);
  }
  EXPECT_EQ(verdict(1), Verdict::kGood);
  change(1, [](int fd) { ASSERT_EQ(::fremovexattr(fd, kIdentityAttribute), 0); });
  EXPECT_EQ(verdict(1), Verdict::kIdentity);
  ASSERT_EQ(::chmod(copy("f2").c_str(), 0644), 0);
  EXPECT_EQ(verdict(2), Verdict::kIdentity);
}

TEST_F(ScrubTest, APieceDropsWhatIsBadAndNothingElse) {
  flip(2, 5);
  std::filesystem::remove(copy("f4"));
  ScrubbedPiece piece = scrub_piece(*store_, 0, 0, kLast, 600'000, never_);
  EXPECT_EQ(piece.figures.done, 1u);
  EXPECT_EQ(piece.figures.frames, 5u);
  ASSERT_EQ(piece.findings.size(), 2u);
  EXPECT_EQ(piece.findings[0].seq, 2u);
  EXPECT_EQ(piece.findings[0].verdict, Verdict::kChecksum);
  EXPECT_EQ(piece.findings[1].verdict, Verdict::kMissing);
  EXPECT_EQ(held(), (Frames{1, 3, 5}));
  EXPECT_FALSE(exists(copy("f2")));
  fill(2);
  EXPECT_EQ(verdict(2), Verdict::kGood);
}

TEST_F(ScrubTest, PiecesCoverTheRangeAndNoMore) {
  Frames seen;
  FrameSeq next = 2;
  for (;;) {
    ScrubbedPiece piece = scrub_piece(*store_, 0, next, 4, 0, never_);
    if (piece.figures.frames > 0) seen.push_back(piece.figures.next - 1);
    if (piece.figures.done != 0) break;
    ASSERT_GT(piece.figures.next, next);
    next = piece.figures.next;
  }
  EXPECT_EQ(seen, (Frames{2, 3, 4}));
}

TEST_F(ScrubTest, WhatWasNotResidentIsNotLeftInThePageCache) {
  UniqueFd fd(::open(copy("f1").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fdatasync(fd.get()), 0);
  std::size_t size = content().size();
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto resident = [&](std::size_t offset) {
    unsigned char page = 0;
    EXPECT_EQ(::mincore(static_cast<char*>(memory) + offset / 4096 * 4096, 1, &page), 0);
    return (page & 1) != 0;
  };
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (resident(0)) GTEST_SKIP() << "this file system keeps its pages";
  EXPECT_EQ(verdict(1), Verdict::kGood);
  EXPECT_FALSE(resident(0));
  EXPECT_FALSE(resident(2'500'000));
  (void)read_file(copy("f1"));
  ASSERT_TRUE(resident(2'500'000));
  EXPECT_EQ(verdict(1), Verdict::kGood);
  EXPECT_TRUE(resident(2'500'000));
  ::munmap(memory, size);
}

}  // namespace
}  // namespace zazen
