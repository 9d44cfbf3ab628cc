#include "bodhi/config/template_check.h"

#include <fmt/format.h>

#include "bodhi/common/directory_entries.h"
#include "bodhi/common/units.h"
#include "bodhi/node/listing.h"

namespace zazen {
namespace {

constexpr std::size_t kEntriesBytes = 64 * 1024;
constexpr std::size_t kMostDirectories = 256, kMostLevels = 3;
constexpr std::size_t kMostLookedInto = 64;  // directories that are searched for a frame

// Adds the names of one directory. 0 or an errno.
int add_names(const std::string& path, const std::string& below, DirectoryNames* found,
              std::vector<std::string>* directories) {
  RawFd fd(raw_open((path + "/" + below).c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return -fd.get();
  const std::string prefix = below.empty() ? "" : below + "/";
  return visit_entries(
      fd.get(), kEntriesBytes, [&](std::string_view name, std::uint64_t, std::uint8_t type) {
        if (name.starts_with('.')) return true;
        const bool is_directory = type == DT_DIR;
        std::vector<std::string>& list = is_directory ? *directories : found->names;
        const std::size_t most = is_directory ? kMostDirectories : DirectoryNames::kMost;
        if (list.size() < most) {
          list.push_back(prefix + std::string(name));
        } else {
          found->is_whole = false;
        }
        return found->names.size() < DirectoryNames::kMost || found->is_whole;
      });
}

// Does the dataset have a frame at present? An error if it cannot be listed.
Result<bool> has_frames(const DatasetConfig& dataset) {
  const std::string directory = frame_directory(dataset.path, dataset.name);
  RawFd fd(raw_open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return Error{-fd.get(), directory, {}};
  bool found = false;
  std::size_t looked_into = 0;
  const int code = visit_entries(
      fd.get(), kEntriesBytes, [&](std::string_view entry, std::uint64_t, std::uint8_t type) {
        FrameSeq seq;
        if (!dataset.name.type_fits(type) ||
            !dataset.name.match_entry(entry.data(), entry.size(), &seq)) {
          return true;
        }
        if (!dataset.name.entry_is_directory()) {
          found = true;
          return false;
        }
        char name[kMaxTemplate + 32];
        dataset.name.format(seq, name, sizeof name);
        const std::string path = dataset.path + "/" + name;
        found = raw_call(SYS_faccessat, AT_FDCWD, path.c_str(), F_OK) == 0;
        return !found && ++looked_into < kMostLookedInto;
      });
  if (code != 0) return Error{code, directory, {}};
  return found;
}

}  // namespace

Result<DirectoryNames> examine_directory(const std::string& path) {
  DirectoryNames found;
  std::vector<std::string> directories;
  if (int code = add_names(path, "", &found, &directories); code != 0) {
    return Error{code, path, {}};
  }
  found.guess = guess_template(found.names);
  for (std::size_t level = 1; level < kMostLevels && found.guess.matches < 2; ++level) {
    std::vector<std::string> next;
    for (const std::string& directory : directories) {
      add_names(path, directory, &found, &next);  // one that cannot be listed adds none
    }
    directories = std::move(next);
    found.guess = guess_template(found.names);
  }
  return found;
}

std::string describe_mismatch(const DatasetConfig& dataset, bool* matches) {
  const Result<bool> known = has_frames(dataset);
  if (matches != nullptr) *matches = known && *known;
  if (known ? *known : known.error().code != ENOENT) return {};
  Result<DirectoryNames> found = examine_directory(dataset.path);
  if (!found || found->names.empty()) return {};
  const std::size_t names = found->names.size();
  const TemplateGuess& guess = found->guess;
  std::string text =
      fmt::format("0 of {}{} names match {}", found->is_whole ? "" : "the first ",
                  format_count(names), dataset.frames);
  // The guess may equal the template: a directory has that name, or a frame has just appeared.
  if (guess.frames.empty() || guess.frames == dataset.frames) return text;
  return text + fmt::format("; {} would match {}", guess.frames,
                            guess.matches == names ? "all" : format_count(guess.matches));
}

}  // namespace zazen
