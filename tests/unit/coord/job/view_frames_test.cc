// The own frames of a view, put there by whole runs, are the same as one by one.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "bodhi/common/unique_fd.h"
#include "coord/job/view_writer.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

// Numbers that rise by the same step for a while; steps up to 5, or any.
Listing random_listing(std::mt19937_64& random, bool ordered) {
  Listing listing;
  FrameSeq seq = random() % 10;
  std::uint64_t ino = random() % 1000;
  for (int run = 0; run < 6; ++run) {
    const std::uint64_t step = 1 + random() % 5, ino_step = random() % 7 - 3;
    for (std::uint64_t left = random() % 4000; left != 0; --left) {
      listing.frames.push_back(seq += step);
      listing.inodes.push_back(ino += ordered ? ino_step : random() % 1000);
    }
    if (random() % 2) seq += random() % 100;
    if (random() % 2) ino += random() % 100;
  }
  return listing;
}

PackedSet random_set(std::mt19937_64& random, std::size_t domain) {
  PackedSetWriter writer(domain);
  for (std::size_t at = random() % 9; at < domain; at += random() % 9) {
    const std::size_t stride = 1 + random() % 20;
    for (std::size_t left = random() % 900; left != 0 && at < domain; --left, at += stride)
      writer.append(at);
  }
  return writer.take();
}

TEST(ViewFrames, RunsAreTheSameAsFrames) {
  std::mt19937_64 random(23);
  Scratch scratch;
  for (int round = 0; round < 400; ++round) {
    const Listing listing = random_listing(random, round % 4 != 0);
    Result<PackedListing> packed = PackedListing::read(encode_listing(listing));
    ASSERT_TRUE(packed.ok());
    Selection selection;
    if (random() % 2) selection.stride = 1 + random() % 4;
    const Domain domain(packed->runs(), selection);
    const PackedSet own = random_set(random, domain.size());

    auto written = [&](const char* name, auto&& put) {
      UniqueFd fd(::open((scratch / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
      ViewFrames frames(fd.get());
      for (int dataset = 0; dataset < 2; ++dataset) {
        put(frames);
        EXPECT_EQ(frames.end_dataset().frames, own.count());
      }
      EXPECT_EQ(frames.flush(), 0);
      const std::string both = read_file(scratch / name);
      EXPECT_EQ(both.substr(0, both.size() / 2), both.substr(both.size() / 2));
      return both;
    };
    const std::string one_by_one = written("frames", [&](ViewFrames& frames) {
      DomainWalk walk(domain);
      InodeWalk inodes(*packed);
      own.for_each([&](std::size_t index) {
        const DomainWalk::Frame frame = walk.at(index);
        frames.add({frame.seq, inodes.at(frame.position)});
      });
    });
    const std::string by_runs = written("runs", [&](ViewFrames& frames) {
      ASSERT_TRUE(add_own_frames(own, domain, *packed, &frames));
    });
    ASSERT_EQ(by_runs, one_by_one) << round;
  }
}

}  // namespace
}  // namespace zazen
