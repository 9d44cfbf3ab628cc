#include "bodhi/node/packed_listing.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

FrameName compiled(const std::string& text) {
  FrameName name;
  const char* why = "";
  EXPECT_TRUE(FrameName::parse(text.data(), text.size(), &name, &why)) << why;
  return name;
}

std::uint64_t inode_of(const std::string& path) {
  struct stat st;
  EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
  return st.st_ino;
}

std::set<std::string> other_names(const Listing& listing) {
  std::set<std::string> names;
  for (const OrdinaryName& other : listing.others) names.insert(other.name);
  return names;
}

Listing listed(const std::string& directory, const std::string& frames) {
  auto listing = list_directory(directory, compiled(frames));
  EXPECT_TRUE(listing.ok());
  return std::move(listing.value());
}

TEST(Listing, FramesAndOrdinaryNames) {
  Scratch scratch;
  for (const char* name : {"f10", "f2", "f0", "f4294967298", "f18446744073709551615", "f02",
                           "topol.tpr", "with space", "\xc3\xa4\xe6\xbc\xa2", "new\nline"}) {
    write_file(scratch / name, "x");
  }
  std::filesystem::create_directory(scratch / "f7");  // a directory is no frame
  std::filesystem::create_directory(scratch / "sub");
  ASSERT_EQ(::mkfifo((scratch / "f8").c_str(), 0600), 0);
  std::filesystem::create_symlink("f0", scratch / "f9");

  Listing listing = listed(scratch.path(), "f{seq}");
  EXPECT_EQ(listing.frames,
            (std::vector<FrameSeq>{0, 2, 9, 10, 4294967298, 18446744073709551615u}));
  ASSERT_EQ(listing.inodes.size(), 6u);
  EXPECT_EQ(listing.inodes[1], inode_of(scratch / "f2"));
  EXPECT_EQ(listing.inodes[2], inode_of(scratch / "f9"));
  EXPECT_EQ(listing.inodes[5], inode_of(scratch / "f18446744073709551615"));
  EXPECT_EQ(other_names(listing),
            (std::set<std::string>{".", "..", "f02", "f7", "f8", "sub", "topol.tpr",
                                   "with space", "\xc3\xa4\xe6\xbc\xa2", "new\nline"}));
  EXPECT_TRUE(std::ranges::is_sorted(listing.others, std::less(), &OrdinaryName::name));
  for (const OrdinaryName& other : listing.others) {
    if (other.name == "f7") {
      EXPECT_TRUE(other.type == DT_DIR || other.type == DT_UNKNOWN);
      EXPECT_EQ(other.ino, inode_of(scratch / "f7"));
    }
  }
  EXPECT_EQ(listing.directory, stat_directory(scratch.path(), compiled("f{seq}")).value());
  for (const char* other : {"g{seq}", "f{seq}.xtc", "f{seq:02}", "f0{seq}", "{seq}/f"})
    EXPECT_NE(listing.directory, stat_directory(scratch.path(), compiled(other)).value())
        << other;
  EXPECT_EQ(listing.directory.ino, inode_of(scratch.path()));

  auto back = decode_listing(encode_listing(listing));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, listing);
}

TEST(Listing, FramesThatAreDirectories) {
  Scratch scratch;
  std::filesystem::create_directories(scratch / "run1/3");
  std::filesystem::create_directory(scratch / "run1/12");
  write_file(scratch / "run1/5", "a file where a directory belongs");
  FrameName name = compiled("run1/{seq}/traj.dcd");
  EXPECT_EQ(frame_directory("/sim", name), "/sim/run1");
  EXPECT_EQ(frame_directory("/sim", compiled("f{seq}")), "/sim");
  Listing listing = listed(frame_directory(scratch.path(), name), "run1/{seq}/traj.dcd");
  EXPECT_EQ(listing.frames, (std::vector<FrameSeq>{3, 12}));
  EXPECT_EQ(other_names(listing), (std::set<std::string>{".", "..", "5"}));
}

TEST(Listing, EmptyAndMissing) {
  Scratch scratch;
  Listing listing = listed(scratch.path(), "f{seq}");
  EXPECT_TRUE(listing.frames.empty());
  EXPECT_EQ(listing.others.size(), 2u);
  auto missing = list_directory(scratch / "none", compiled("f{seq}"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(stat_directory(scratch / "none", compiled("f{seq}")).error().code, ENOENT);
  write_file(scratch / "file", "");
  EXPECT_EQ(stat_directory(scratch / "file", compiled("f{seq}")).error().code, ENOTDIR);
  EXPECT_EQ(list_directory(scratch / "file", compiled("f{seq}")).error().code, ENOTDIR);
}

TEST(Listing, ManyEntriesSpanSeveralReads) {
  Scratch scratch;
  constexpr FrameSeq kCount = 5'000;  // with such names more than one buffer of entries
  std::string prefix(200, 'f');
  for (FrameSeq seq = 0; seq < kCount; ++seq) {
    ASSERT_EQ(::symlink("x", (scratch / (prefix + std::to_string(seq))).c_str()), 0);
  }
  Listing listing = listed(scratch.path(), prefix + "{seq}");
  ASSERT_EQ(listing.frames.size(), kCount);
  EXPECT_EQ(listing.frames.back(), kCount - 1);
  EXPECT_TRUE(std::is_sorted(listing.frames.begin(), listing.frames.end()));
  EXPECT_LT(encode_listing(listing).size(), kCount * 4 + 200);
}

TEST(Listing, SettledTwoSecondsAfterTheLastChange) {
  Listing listing;
  listing.directory.mtime_ns = 100 * kSecond;
  listing.directory.ctime_ns = 100 * kSecond;
  listing.taken_at_ns = 102 * kSecond - 1;
  EXPECT_FALSE(listing.settled());
  listing.taken_at_ns = 102 * kSecond;
  EXPECT_TRUE(listing.settled());
  listing.directory.ctime_ns = 101 * kSecond;  // the mtime was set back
  EXPECT_FALSE(listing.settled());
  listing.directory.ctime_ns = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(listing.settled());
  Scratch scratch;
  EXPECT_FALSE(listed(scratch.path(), "f{seq}").settled());  // just made
}

Listing example() {
  Listing listing;
  listing.directory = {77, -5 * kSecond, 6 * kSecond};
  listing.taken_at_ns = 100 * kSecond;
  listing.frames = {0, 1, 2, 3, 50, 60, 70, UINT64_MAX};
  listing.inodes = {9, 8, 7, UINT64_MAX, 1, 2, 3, 0};
  listing.others = {{".", 77, DT_DIR}, {"..", 2, DT_DIR}, {"a\nb \xff", UINT64_MAX, DT_REG}};
  return listing;
}

TEST(Listing, EncodingComesBack) {
  EXPECT_EQ(decode_listing(encode_listing(example())).value(), example());
  EXPECT_EQ(decode_listing(encode_listing(Listing())).value(), Listing());
  Listing near = example();  // four bytes for each inode number
  near.inodes = {900, 899, 1ULL << 32, 1000, 901, 902, 903, 904};
  EXPECT_EQ(decode_listing(encode_listing(near)).value(), near);
  EXPECT_EQ(encode_listing(near).size() + 8 * 4, encode_listing(example()).size());
  Listing orderly = example();  // runs, up and down, past 2^64
  for (FrameSeq seq = 100; seq < 200; ++seq)
    orderly.frames.insert(orderly.frames.end() - 1, seq);
  orderly.inodes.assign(60, 0);
  for (std::size_t i = 0; i < 60; ++i) orderly.inodes[i] = UINT64_MAX - 300 + 10 * i;
  for (std::size_t i = 60; i < 108; ++i) orderly.inodes.push_back(5'000 - i);
  EXPECT_EQ(decode_listing(encode_listing(orderly)).value(), orderly);
  EXPECT_LT(encode_listing(orderly).size(), encode_listing(example()).size() + 100);
  EXPECT_EQ(decode_listing(encode_listing(orderly), 107).error().code, EFBIG);
  Listing unsettled = example();
  unsettled.taken_at_ns = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(decode_listing(encode_listing(unsettled)).value(), unsettled);
}

TEST(Listing, DamageIsRefused) {
  const std::string whole = encode_listing(example());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_listing(whole.substr(0, length)).ok()) << length;
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_listing(damaged).ok()) << bit;
  }
  EXPECT_FALSE(decode_listing(whole + "x").ok());
  Listing unsorted = example();
  std::swap(unsorted.others[0], unsorted.others[2]);
  EXPECT_FALSE(decode_listing(encode_listing(unsorted)).ok());
}

std::string with_checksum(std::string bytes) {
  std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  return bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
}

// With the right checksum: what is left is the decoder's own care.
void survive_hostile_bytes(const Listing& from) {
  std::string whole = encode_listing(from);
  const std::string body = whole.substr(0, whole.size() - 8);
  ASSERT_EQ(with_checksum(body), whole);
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_FALSE(decode_listing(with_checksum(body.substr(0, length))).ok()) << length;
  }
  EXPECT_FALSE(decode_listing(with_checksum(body + std::string(1, '\0'))).ok());
  std::mt19937_64 random(6);
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = body;
    for (int n = static_cast<int>(random() % 3); n >= 0; --n) {
      bytes[16 + random() % (bytes.size() - 16)] = static_cast<char>(random());
    }
    auto listing = decode_listing(with_checksum(bytes), 100'000);
    if (!listing) continue;
    ASSERT_EQ(listing->frames.size(), listing->inodes.size());
    for (const OrdinaryName& other : listing->others) {
      ASSERT_EQ(other.name.find('/'), std::string::npos);
      ASSERT_FALSE(other.name.empty());
    }
  }
}

TEST(Listing, SurvivesHostileBytes) {
  survive_hostile_bytes(example());
  Listing orderly = example();
  orderly.inodes = {1, 2, 3, 4, 5, 6, 7, 8};
  survive_hostile_bytes(orderly);
}

// One rank of a node checks the whole; the others take it as it stands.
TEST(Listing, AKeptListingIsCheckedWhereThatIsAskedFor) {
  Scratch scratch;
  std::string path = scratch / "listing";
  const Listing listing = example();
  std::string bytes = encode_listing(listing);
  bytes[88 + 24 * 3 + 1] ^= 1;  // among the inode numbers
  write_file(path, bytes);
  EXPECT_EQ(load_kept_listing(path, listing.directory, ListingCheck::kWhole).error().code,
            EINVAL);
  EXPECT_TRUE(load_kept_listing(path, listing.directory, ListingCheck::kTrusting).ok());
}

TEST(Listing, InodeNumbersOfAKeptListingAreReadWhenTheyAreAskedFor) {
  Scratch scratch;
  std::string path = scratch / "listing";
  Listing listing = example();
  listing.frames.clear();
  listing.inodes.clear();
  std::mt19937_64 random(8);
  for (FrameSeq seq = 0; seq < 100'000; ++seq) {
    listing.frames.push_back(seq);
    listing.inodes.push_back(random());
  }
  for (std::uint64_t range : {~0ULL, 1ULL << 30, 3ULL}) {  // wide, narrow, and some runs
    for (std::uint64_t& ino : listing.inodes) ino %= range;
    write_file(path, encode_listing(listing));
    PackedListing kept =
        load_kept_listing(path, listing.directory, ListingCheck::kWhole).value();
    InodeWalk inodes(kept);
    for (std::size_t i = 0; i < listing.inodes.size(); i += 1 + random() % 7)
      ASSERT_EQ(inodes.at(i), listing.inodes[i]) << i;
    EXPECT_TRUE(inodes.ok());
  }
  for (std::uint64_t& ino : listing.inodes) ino = random();
  write_file(path, encode_listing(listing));
  PackedListing kept = load_kept_listing(path, listing.directory, ListingCheck::kWhole).value();
  std::filesystem::resize_file(path, 1'000);
  InodeWalk inodes(kept);
  inodes.at(50'000);
  EXPECT_FALSE(inodes.ok());
}

TEST(Listing, KeptListingIsOfThisVeryState) {
  Scratch scratch;
  std::string path = scratch / "listing";
  Listing listing = example();
  EXPECT_EQ(load_kept_listing(path, listing.directory, ListingCheck::kWhole).error().code,
            ENOENT);
  write_file(path, encode_listing(listing));
  EXPECT_EQ(
      load_kept_listing(path, listing.directory, ListingCheck::kWhole).value().bytes().value(),
      encode_listing(listing));

  DirectoryIdentity changed = listing.directory;
  changed.mtime_ns += 1;
  EXPECT_EQ(load_kept_listing(path, changed, ListingCheck::kWhole).error().code, ESTALE);
  changed = listing.directory;
  changed.ino += 1;
  EXPECT_EQ(load_kept_listing(path, changed, ListingCheck::kWhole).error().code, ESTALE);
  changed = listing.directory;
  changed.names += 1;
  EXPECT_EQ(load_kept_listing(path, changed, ListingCheck::kWhole).error().code, ESTALE);

  listing.taken_at_ns = listing.directory.ctime_ns + kSecond;
  write_file(path, encode_listing(listing));
  EXPECT_EQ(load_kept_listing(path, listing.directory, ListingCheck::kWhole).error().code,
            ESTALE);
  write_file(path, "damaged");
  EXPECT_EQ(load_kept_listing(path, listing.directory, ListingCheck::kWhole).error().code,
            EINVAL);
}

}  // namespace
}  // namespace zazen
