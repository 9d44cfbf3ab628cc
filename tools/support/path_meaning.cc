#include "tools/support/path_meaning.h"

#include <fmt/core.h>

#include <cctype>
#include <optional>

#include "bodhi/lean/requests/local_copy.h"
#include "bodhi/node/listing.h"

namespace zazen {
namespace {

std::optional<DirectoryKey> directory_key(const std::string& path) {
  DirectoryKey key;
  if (!directory_key(path.empty() ? "." : path.c_str(), &key)) return std::nullopt;
  return key;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// The frame's name if `entry` differs from it only in the spelling of its number: "f7" for
// "f07".
std::optional<std::string> canonical_spelling(const FrameName& name, const std::string& entry) {
  for (std::size_t begin = 0; begin < entry.size(); ++begin) {
    if (std::isdigit(static_cast<unsigned char>(entry[begin])) == 0) continue;
    std::size_t end = entry.find_first_not_of("0123456789", begin);
    if (end == std::string::npos) end = entry.size();
    FrameSeq seq = 0;
    bool fits = true;
    for (std::size_t i = begin; i < end; ++i) {
      auto digit = static_cast<FrameSeq>(entry[i] - '0');
      fits = fits && !__builtin_mul_overflow(seq, FrameSeq{10}, &seq) &&
             !__builtin_add_overflow(seq, digit, &seq);
    }
    char buffer[kMaxTemplate + 32];
    std::string right(buffer, fits ? name.format_entry(seq, buffer, sizeof buffer) : 0);
    std::string before = entry.substr(0, begin), after = entry.substr(end);
    if (right.size() > before.size() + after.size() && right.starts_with(before) &&
        right.ends_with(after) &&
        is_number(right.substr(before.size(), right.size() - before.size() - after.size()))) {
      return right;
    }
    begin = end;
  }
  return std::nullopt;
}

std::string companions_in_words(const FrameName& name) {
  if (name.companions().count() == 0) return "";
  return fmt::format(
      "; a '*' of also stands for a frame's name, or up to {} of A-Z a-z 0-9 _ . -",
      CompanionPatterns::kMostLetters);
}

// Decides about a path that names no frame: it is in a dataset's directory, or not near one.
PathMeaning ordinary(const std::vector<KnownDataset>& datasets, const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::string parent = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::string entry = slash == std::string::npos ? path : path.substr(slash + 1);
  std::optional<DirectoryKey> key = directory_key(parent);
  PathMeaning meaning;
  meaning.rule = "no dataset's template matches the name";
  if (!key) meaning.rule = "its directory does not exist or cannot be reached";
  if (entry.empty()) meaning.rule = "it ends with '/', which no frame does";
  for (const KnownDataset& dataset : datasets) {
    if (!key || entry.empty()) break;
    if (directory_key(frame_directory(dataset.path, dataset.name)) != key) continue;
    meaning.dataset = &dataset;
    std::optional<std::string> right = canonical_spelling(dataset.name, entry);
    meaning.rule =
        right ? fmt::format("not canonical: {} is not a name of {}, which writes {}", entry,
                            dataset.frames, *right)
              : fmt::format("an ordinary name: the frames of this dataset are named {}{}",
                            dataset.frames, companions_in_words(dataset.name));
  }
  return meaning;
}

}  // namespace

PathMeaning meaning_of(const std::vector<KnownDataset>& datasets, const std::string& path) {
  std::string elsewhere;
  for (const KnownDataset& dataset : datasets) {
    FrameSeq seq = 0;
    std::size_t parent_length = 0;
    if (!dataset.name.match_tail(path.data(), path.size(), &parent_length, &seq)) continue;
    std::string own = frame_directory(dataset.path, dataset.name);
    std::optional<DirectoryKey> parent = directory_key(path.substr(0, parent_length));
    bool plainly = path.substr(0, parent_length) == own + "/";
    if (plainly || (parent && parent == directory_key(own))) {
      return {PathMeaning::kFrame, &dataset, seq,
              fmt::format("the name matches {} and its directory is the dataset's",
                          dataset.name.is_companion(seq) ? "also" : dataset.frames)};
    }
    elsewhere =
        fmt::format("it matches {} but lies in another directory than {}", dataset.frames, own);
  }

  if (std::optional<DirectoryKey> key = directory_key(path)) {
    for (const KnownDataset& dataset : datasets) {
      if (directory_key(frame_directory(dataset.path, dataset.name)) == key) {
        return {PathMeaning::kFrameDirectory, &dataset, 0,
                "the directory of a dataset's frames"};
      }
      if (directory_key(dataset.path) == key) {
        return {PathMeaning::kDatasetDirectory, &dataset, 0,
                "a dataset whose frames lie in directories below it"};
      }
    }
    PathMeaning other;
    other.rule = "a directory, and no dataset's";
    return other;
  }
  PathMeaning meaning = ordinary(datasets, path);
  if (!elsewhere.empty()) meaning.rule = elsewhere;
  return meaning;
}

}  // namespace zazen
