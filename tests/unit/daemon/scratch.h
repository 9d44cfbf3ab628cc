// Scratch: a temporary directory with an origin, a cache and a runtime directory, gone with
// the test; and a configuration that names them.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "bodhi/node/seqlog.h"

namespace zazen {

inline void write_file(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::trunc | std::ios::binary) << content;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline bool exists(const std::string& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(path));
}

class Scratch : public ::testing::Test {
 protected:
  Scratch() {
    std::string pattern = ::testing::TempDir() + "/zazend-test-XXXXXX";
    directory_ = std::filesystem::canonical(::mkdtemp(pattern.data())).string();
    for (const std::string& path : {origin(), cache(), runtime()}) {
      std::filesystem::create_directory(path);
      ::chmod(path.c_str(), 0700);
    }
    config_.node = "n0";
    config_.cache = cache();
    config_.runtime = runtime();
    add_dataset(origin(), "f{seq}");
  }
  ~Scratch() override { std::filesystem::remove_all(directory_); }

  std::string directory() const { return directory_; }
  std::string origin(const std::string& name = "") const {
    return directory_ + "/sim" + (name.empty() ? "" : "/" + name);
  }
  std::string cache() const { return directory_ + "/cache"; }
  std::string runtime() const { return directory_ + "/run"; }
  std::string copy(const std::string& name = "") const {
    return cache() + origin() + (name.empty() ? "" : "/" + name);
  }

  void add_dataset(const std::string& path, const std::string& frames) {
    DatasetConfig dataset;
    dataset.path = path;
    dataset.frames = frames;
    const char* why = "";
    ASSERT_TRUE(FrameName::parse(frames.data(), frames.size(), &dataset.name, &why)) << why;
    config_.datasets.push_back(dataset);
  }
  void use_template(const std::string& frames) {
    config_.datasets.clear();
    add_dataset(origin(), frames);
  }
  void use_also(const std::string& patterns) {
    use_template(config_.datasets[0].frames);
    const char* why = "";
    DatasetConfig& dataset = config_.datasets[0];
    dataset.also = patterns;
    ASSERT_TRUE(dataset.name.add_also(patterns.data(), patterns.size(), &why)) << why;
  }
  FrameSeq number_of(const std::string& name) const {
    FrameSeq seq = 0;
    EXPECT_TRUE(config_.datasets[0].name.match(name.data(), name.size(), &seq)) << name;
    return seq;
  }
  UniqueFd open_origin(const std::string& name) const {
    return UniqueFd(::open(origin(name).c_str(), O_RDONLY | O_CLOEXEC));
  }

  std::vector<FrameSeq> native_log() const { return log(kNativeLog); }
  std::vector<FrameSeq> alien_log() const { return log(kAlienLog); }

  Config config_;

 private:
  std::vector<FrameSeq> log(const char* name) const {
    Result<FrameSet> frames = read_sequence_log(copy(name));
    return frames.ok() ? frames->frames() : std::vector<FrameSeq>{~FrameSeq{0}};
  }
  std::string directory_;
};

using Frames = std::vector<FrameSeq>;

}  // namespace zazen
