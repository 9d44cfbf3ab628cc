// The machine's own /etc/ld.so.cache, whole and damaged.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tools/shared_libraries.h"

namespace zazen {
namespace {

std::string own_cache() {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LoaderCache, FindsTheLibrariesOfThisProgram) {
  std::string libc = find_in_loader_cache(own_cache(), "libc.so.6");
  Result<ElfFile> file = read_elf(libc);
  ASSERT_TRUE(file) << libc;
  EXPECT_EQ(find_in_loader_cache(own_cache(), "libno-such-library.so.1"), "");

  Result<ElfFile> self = read_elf("/proc/self/exe");
  SharedLibraries libraries = libraries_of("/proc/self/exe", *self);
  EXPECT_TRUE(libraries.names.contains("libc.so.6"));
  EXPECT_TRUE(libraries.names.contains("libstdc++.so.6"));
  EXPECT_TRUE(libraries.missing.empty()) << libraries.missing.front();
}

TEST(LoaderCache, WhatIsNeededButNowhereIsMissing) {
  Result<ElfFile> self = read_elf("/proc/self/exe");
  self->needed.push_back("libno-such-library.so.1");
  EXPECT_EQ(libraries_of("/proc/self/exe", *self).missing,
            std::vector<std::string>{"libno-such-library.so.1"});
}

TEST(LoaderCache, DamagedInAnyWay) {
  std::string whole = own_cache();
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 16) {
    std::string part = whole.substr(0, size);
    EXPECT_NE(part.find(find_in_loader_cache(part, "libc.so.6")), std::string::npos);
  }
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 200; ++i) {
      damaged[21 + random() % (damaged.size() - 21)] = static_cast<char>(random());
    }
    EXPECT_NE(damaged.find(find_in_loader_cache(damaged, "libc.so.6")), std::string::npos);
  }
}

}  // namespace
}  // namespace zazen
