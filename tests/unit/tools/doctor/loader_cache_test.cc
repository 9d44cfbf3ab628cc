// The machine's own /etc/ld.so.cache, whole and damaged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tools/doctor/shared_libraries.h"

namespace zazen {
namespace {

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string own_cache() {
  return read_whole("/etc/ld.so.cache");
}

// Every path that is found lies within the text, whatever that is.
void expect_within(const std::string& text) {
  for (const std::string& path : find_in_loader_cache(text, "libc.so.6")) {
    EXPECT_NE(text.find(path), std::string::npos);
  }
}

TEST(LoaderCache, FindsTheLibrariesOfThisProgram) {
  std::vector<std::string> libc = find_in_loader_cache(own_cache(), "libc.so.6");
  ASSERT_FALSE(libc.empty());
  Result<ElfFile> file = read_elf(libc.front());
  ASSERT_TRUE(file) << libc.front();
  EXPECT_TRUE(find_in_loader_cache(own_cache(), "libno-such-library.so.1").empty());

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

// ldconfig makes a cache of three libraries of one name, and puts that for x32 first. The
// loader takes the one of the program's own kind.
TEST(LoaderCache, OnAMultilibMachineTheProgramsOwnKindIsTaken) {
  namespace fs = std::filesystem;
  const std::string name = "libzazen-multilib.so.1";
  std::string pattern = ::testing::TempDir() + "/loader-cache-XXXXXX";
  std::string root = ::mkdtemp(pattern.data());
  auto run = [](const std::string& command) { return std::system(command.c_str()); };
  std::ofstream(root + "/source.c") << "int nothing;\n";
  std::ofstream conf(root + "/conf");
  for (std::string kind : {"-m32", "-m64", "-mx32"}) {
    std::string directory = root + "/" + kind;
    fs::create_directory(directory);
    conf << directory << std::endl;
    ASSERT_EQ(run("cc " + kind + " -shared -nostdlib -Wl,-soname," + name + " -o " + directory +
                  "/" + name + " " + root + "/source.c"),
              0);
  }
  ASSERT_EQ(run("/sbin/ldconfig -X -C " + root + "/cache -f " + root + "/conf 2>/dev/null"), 0);

  std::vector<std::string> paths = find_in_loader_cache(read_whole(root + "/cache"), name);
  EXPECT_EQ(paths.size(), 3u);
  EXPECT_FALSE(read_elf(paths.front())->is_native());
  Result<ElfFile> self = read_elf("/proc/self/exe");
  self->needed.push_back(name);
  EXPECT_TRUE(libraries_of("/proc/self/exe", *self, root + "/cache").missing.empty());
  fs::remove_all(root);
}

TEST(LoaderCache, DamagedInAnyWay) {
  std::string whole = own_cache();
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 16) {
    expect_within(whole.substr(0, size));
  }
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 200; ++i) {
      damaged[21 + random() % (damaged.size() - 21)] = static_cast<char>(random());
    }
    expect_within(damaged);
  }
}

}  // namespace
}  // namespace zazen
