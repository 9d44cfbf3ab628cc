#include "tests/fault/origin_history.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace zazen {
namespace {

// Around the blocks of disks and pages, and one that is mostly a hole.
constexpr std::array<std::size_t, 8> kSizes = {0, 1, 511, 512, 4096, 4097, 9000, 40'000};
constexpr std::size_t kSparse = 40'000;

}  // namespace

OriginHistory::OriginHistory(const std::string& directory, std::mt19937_64& random) {
  const std::array<std::pair<const char*, std::string>, kDatasets> kinds = {
      {{"/flat", "f{seq}"}, {"/deep", "run1/{seq}/traj.dcd"}}};
  for (const auto& [path, frames] : kinds) {
    DatasetConfig dataset;
    dataset.path = directory + path;
    dataset.frames = frames;
    const char* why = "";
    if (!FrameName::parse(frames.data(), frames.size(), &dataset.name, &why)) {
      throw std::runtime_error(why);
    }
    datasets_.push_back(dataset);
  }
  for (std::uint32_t dataset = 0; dataset < kDatasets; ++dataset) {
    for (FrameSeq seq = 0; seq < kFrames; ++seq) rewrite(dataset, seq, random);
  }
}

std::string OriginHistory::name_of(std::uint32_t dataset, FrameSeq seq) const {
  char name[kMaxTemplate + 32];
  return std::string(name, datasets_[dataset].name.format(seq, name, sizeof name));
}

UniqueFd OriginHistory::open(std::uint32_t dataset, FrameSeq seq) const {
  std::string path = datasets_[dataset].path + "/" + name_of(dataset, seq);
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

void OriginHistory::rewrite(std::uint32_t dataset, FrameSeq seq, std::mt19937_64& random) {
  Version version;
  std::size_t size = kSizes[random() % kSizes.size()];
  version.bytes.resize(size);
  std::size_t filled = size == kSparse ? size / 8 : size;
  for (std::size_t i = 0; i < filled; ++i) version.bytes[i] = static_cast<char>(random());

  // A new file in place of the old one, long finished by its times: no fill has to wait for it.
  std::string path = datasets_[dataset].path + "/" + name_of(dataset, seq);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::string made = path + ".new";
  UniqueFd fd(::open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const timespec long_ago = {1'700'000'000 + static_cast<time_t>(random() % 1'000'000), 1};
  const timespec times[] = {long_ago, long_ago};
  if (!fd.valid() ||
      ::pwrite(fd.get(), version.bytes.data(), filled, 0) != static_cast<ssize_t>(filled) ||
      ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::futimens(fd.get(), times) != 0 || ::rename(made.c_str(), path.c_str()) != 0 ||
      ::fstat(fd.get(), &version.origin) != 0) {
    throw std::system_error(errno, std::generic_category(), path);
  }
  versions_[{dataset, seq}].push_back(std::move(version));
}

}  // namespace zazen
