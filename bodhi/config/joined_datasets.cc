#include "bodhi/config/joined_datasets.h"

#include <fmt/format.h>

#include "bodhi/config/dataset_places.h"

namespace zazen {
namespace {

// The length of the UTF-8 sequence that begins with this byte; 0: none does.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

}  // namespace

bool is_printable_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = sequence_length(first);
    if (length == 0 || at + length > text.size() || first < 0x20 || first == 0x7f) return false;
    const auto second = static_cast<unsigned char>(length > 1 ? text[at + 1] : 0);
    const bool is_overlong =
        (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool is_no_letter = (first == 0xed && second > 0x9f) ||
                              (first == 0xf4 && second > 0x8f) ||
                              (first == 0xc2 && second < 0xa0);
    if (is_overlong || is_no_letter) return false;
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return false;
    }
    at += length;
  }
  return true;
}

std::string describe_bad_path(const std::string& path) {
  if (path.size() < 2 || path[0] != '/') return "it is not an absolute path";
  if (path.size() >= kMaxPath) return fmt::format("it is longer than {} bytes", kMaxPath - 1);
  if (!is_printable_utf8(path)) return "it has control characters, or bytes that are no UTF-8";
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return "it is not a plain path";
    begin = end + 1;
  }
  return "";
}

std::vector<LeftOut> join_datasets(const std::vector<DatasetConfig>& more,
                                   const FollowLinks& follow, Config* config) {
  std::vector<LeftOut> left_out;
  if (more.empty()) return left_out;
  std::vector<std::string> paths = {config->cache, config->runtime};
  for (const DatasetConfig& known : config->datasets) paths.push_back(known.path);
  const std::size_t known = paths.size();
  for (const DatasetConfig& each : more) paths.push_back(each.path);
  std::vector<std::string> resolved = follow(paths);
  resolved.resize(paths.size());
  DatasetPlaces places({paths[0], resolved[0]}, {paths[1], resolved[1]});
  for (std::size_t i = 2; i < known; ++i) places.take({paths[i], resolved[i]});
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (std::string why = describe_bad_path(more[i].path); !why.empty()) {
      left_out.push_back({more[i].path, why});
    } else if (config->datasets.size() == kMaxDatasets) {
      left_out.push_back({more[i].path, fmt::format("more than {} datasets", kMaxDatasets)});
    } else if (auto overlap = places.take({more[i].path, resolved[known + i]})) {
      left_out.push_back({more[i].path, overlap->text});
    } else {
      config->datasets.push_back(more[i]);
    }
  }
  return left_out;
}

}  // namespace zazen
