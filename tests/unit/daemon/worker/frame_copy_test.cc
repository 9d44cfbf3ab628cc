// Which files may be copied, and when a copy counts.
#include "daemon/worker/fills/frame_copy.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <thread>

#include "bodhi/lean/frames/identity.h"
#include "daemon/worker/origins/origin.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class OriginTest : public Scratch {
 protected:
  int verify(const std::string& name, const UniqueFd& fd) {
    struct stat st = {};
    return verify_origin(config_.datasets[0], name, fd.get(), &st);
  }
  UniqueFd open(const std::string& path, int flags) {
    return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  }
};

TEST_F(OriginTest, FrameItselfIsAccepted) {
  write_file(origin("f1"), "x");
  EXPECT_EQ(verify("f1", open(origin("f1"), O_RDONLY)), 0);
  EXPECT_EQ(verify("f1", open(origin("f1"), O_RDWR)), 0);
}

TEST_F(OriginTest, AnotherFileUnderTheNameIsPoison) {
  write_file(origin("f1"), "x");
  write_file(directory() + "/poison", "y");
  EXPECT_EQ(verify("f1", open(directory() + "/poison", O_RDONLY)), EPERM);
}

TEST_F(OriginTest, DescriptorThatCannotBeReadIsRefused) {
  write_file(origin("f1"), "x");
  EXPECT_EQ(verify("f1", open(origin("f1"), O_WRONLY)), EBADF);
  EXPECT_EQ(verify("f1", open(origin("f1"), O_PATH)), EBADF);
}

TEST_F(OriginTest, OnlyRegularFilesAreFrames) {
  std::filesystem::create_directory(origin("f1"));
  EXPECT_EQ(verify("f1", open(origin("f1"), O_RDONLY)), EINVAL);
  ASSERT_EQ(::mkfifo(origin("f2").c_str(), 0600), 0);
  EXPECT_EQ(verify("f2", open(origin("f2"), O_RDONLY | O_NONBLOCK)), EINVAL);
  EXPECT_EQ(verify("f3", open("/dev/zero", O_RDONLY)), EINVAL);
}

TEST_F(OriginTest, SymbolicLinksAreNeverFrames) {
  write_file(directory() + "/target", "x");
  std::filesystem::create_symlink(directory() + "/target", origin("f1"));
  EXPECT_EQ(verify("f1", open(origin("f1"), O_RDONLY)), EPERM);

  use_template("run/{seq}");
  write_file(directory() + "/elsewhere/1", "x");
  std::filesystem::create_directory_symlink(directory() + "/elsewhere", origin("run"));
  EXPECT_EQ(verify("run/1", open(origin("run/1"), O_RDONLY)), EPERM);
}

TEST_F(OriginTest, WritersAreSeen) {
  write_file(origin("f1"), std::string(4096, 'x'));
  UniqueFd reader = open(origin("f1"), O_RDONLY);
  EXPECT_FALSE(has_writer(reader.get()));
  UniqueFd writer = open(origin("f1"), O_RDWR);
  EXPECT_TRUE(has_writer(reader.get()));
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  writer.reset();
  EXPECT_TRUE(has_writer(reader.get())) << "mapped";
  ::munmap(page, 4096);
  EXPECT_FALSE(has_writer(reader.get()));
}

TEST_F(OriginTest, MissingFrameAndMissingDatasetAreENOENT) {
  write_file(directory() + "/other", "x");
  EXPECT_EQ(verify("f1", open(directory() + "/other", O_RDONLY)), ENOENT);
  std::filesystem::remove_all(origin());
  EXPECT_EQ(verify("f1", open(directory() + "/other", O_RDONLY)), ENOENT);
}

class FrameCopyTest : public Scratch {
 protected:
  void begin(const std::string& content, off_t hole_up_to = 0, bool tells_blocks = true) {
    write_file(origin("f1"), content);
    if (hole_up_to != 0) {
      ASSERT_EQ(::truncate(origin("f1").c_str(), hole_up_to), 0);
    }
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    disk_.emplace(std::move(*disk));
    file_ = open_origin("f1");
    struct stat before = {};
    ASSERT_EQ(verify_origin(config_.datasets[0], "f1", file_.get(), &before), 0);
    if (!tells_blocks) before.st_blocks = 0;
    made_ = disk_->make_temporary(disk_->root_fd());
    copy_.emplace(file_.get(), before, made_.fd());
  }
  int transfer() {
    auto reserve_more = [this](std::uint64_t bytes) {
      more_ += bytes;
      return more_ <= most_more_ ? 0 : ENOSPC;
    };
    return copy_->transfer(pace_, {[] { return false; }, [] { return true; }, reserve_more});
  }

  int seal(FrameKind kind) {
    struct stat after = {};
    if (int code = copy_->look_again(&after); code != 0) return code;
    if (int code = made_.seal_content(); code != 0) return code;
    return seal_copy(made_.fd(), identity_of(after, kind, copy_->checksum()), after.st_atim,
                     after.st_mtim);
  }

  FillThrottle pace_;
  Temporary made_;
  std::uint64_t more_ = 0, most_more_ = 1 << 30;
  UniqueFd file_;
  std::optional<CacheDisk> disk_;
  std::optional<FrameCopy> copy_;
};

TEST_F(FrameCopyTest, CopyHasTheBytesTheIdentityAndTheMode) {
  std::string content(3'000'000, 'x');  // some pieces and a rest
  content[1'500'000] = 'y';
  begin(content);
  ASSERT_EQ(::lseek(file_.get(), 10, SEEK_SET), 10);
  ASSERT_EQ(transfer(), 0);
  ASSERT_EQ(seal(FrameKind::kNative), 0);
  EXPECT_EQ(::lseek(file_.get(), 0, SEEK_CUR), 10) << "the program's offset is its own";

  struct stat st = {}, from = {};
  ASSERT_EQ(::fstat(made_.fd(), &st), 0);
  ASSERT_EQ(::fstat(file_.get(), &from), 0);
  EXPECT_EQ(st.st_mode & 07777, kCopyMode);
  std::string bytes(content.size() + 1, '\0');
  ASSERT_EQ(::pread(made_.fd(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(content.size()));
  bytes.pop_back();
  EXPECT_EQ(bytes, content);
  OriginIdentity identity = {};
  ASSERT_EQ(read_identity(made_.fd(), &identity), 0);
  EXPECT_TRUE(same_file(identity, from));
  EXPECT_EQ(identity.kind, FrameKind::kNative);
  EXPECT_EQ(identity.checksum, XXH3_64bits(content.data(), content.size()));
}

TEST_F(FrameCopyTest, HolesStayHoles) {
  constexpr off_t kSize = 3'000'001;
  begin(std::string(5000, 'a'), kSize);
  ASSERT_EQ(transfer(), 0);
  ASSERT_EQ(seal(FrameKind::kAlien), 0);
  struct stat st = {};
  ASSERT_EQ(::fstat(made_.fd(), &st), 0);
  EXPECT_EQ(st.st_size, kSize);
  EXPECT_LT(st.st_blocks * 512, 100'000);
  std::string bytes(kSize, 'x');
  ASSERT_EQ(::pread(made_.fd(), bytes.data(), bytes.size(), 0), kSize);
  EXPECT_EQ(bytes, read_file(origin("f1")));
  EXPECT_EQ(copy_->room(), 8192u);
  EXPECT_EQ(more_, 0u) << "its blocks are known beforehand";
}

TEST_F(FrameCopyTest, BlocksThatTheOriginDidNotTellOfAreReservedBeforeTheyAreWritten) {
  constexpr std::size_t kSize = 3'000'001;
  begin(std::string(kSize, 'a'), 0, false);
  EXPECT_EQ(copy_->said_room(), 0u);
  ASSERT_EQ(transfer(), 0);
  EXPECT_EQ(copy_->room(), kSize);
  EXPECT_EQ(more_, kSize);

  more_ = 0;
  most_more_ = 2'100'000;
  begin(std::string(kSize, 'a'), 0, false);
  EXPECT_EQ(transfer(), ENOSPC);
  struct stat st = {};
  ASSERT_EQ(::fstat(made_.fd(), &st), 0);
  EXPECT_LE(static_cast<std::uint64_t>(st.st_size), most_more_) << "written without room";
}

TEST_F(FrameCopyTest, EmptyFrameIsAFrame) {
  begin("");
  EXPECT_EQ(transfer(), 0);
  EXPECT_EQ(seal(FrameKind::kAlien), 0);
}

TEST_F(FrameCopyTest, OriginThatShrinksOrGrowsIsNotCopied) {
  begin("0123456789");
  ASSERT_EQ(::truncate(origin("f1").c_str(), 5), 0);
  EXPECT_EQ(transfer(), ESTALE);
  begin("0123456789");
  write_file(origin("f1"), "0123456789+");
  EXPECT_EQ(transfer(), ESTALE);
}

TEST_F(FrameCopyTest, OriginThatChangesAfterItWasReadIsNotKept) {
  begin("0123456789");
  ASSERT_EQ(transfer(), 0);
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, origin("f1").c_str(), times, 0), 0);
  EXPECT_EQ(seal(FrameKind::kAlien), ESTALE);
}

// Or else a fill would take itself for a program, and rest.
TEST_F(FrameCopyTest, WhatTheFillFetchesItselfIsNotAProgramThatReads) {
  begin(std::string(8 << 20, 'x'));
  ASSERT_EQ(::fdatasync(file_.get()), 0);
  ASSERT_EQ(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  std::this_thread::sleep_for(FillThrottle::kLongestAhead);
  const auto before = FillThrottle::Clock::now();
  auto no = [] { return false; };
  ASSERT_EQ(copy_->transfer(pace_, {no, no, {}}), 0);
  EXPECT_TRUE(
      pace_.may_fetch(before + FillThrottle::kShortestPiece, FillThrottle::Fetch::kAhead));
}

TEST_F(FrameCopyTest, CopyCanBeGivenUp) {
  begin("0123456789");
  EXPECT_EQ(copy_->transfer(pace_, {[] { return true; }, [] { return true; }, {}}), ECANCELED);
}

}  // namespace
}  // namespace zazen
