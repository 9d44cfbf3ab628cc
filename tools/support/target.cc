// A path may lead to a dataset under another name, through a symbolic link above it. Then the
// real paths decide.
#include "tools/support/target.h"

#include <filesystem>

namespace zazen {
namespace {

namespace fs = std::filesystem;

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The name of `path` below `directory`; nothing if it is not below; "" if it is the same.
std::optional<std::string> name_below(const std::string& directory, const std::string& path) {
  if (path == directory) return "";
  if (path.size() <= directory.size() || path[directory.size()] != '/') return std::nullopt;
  if (path.compare(0, directory.size(), directory) != 0) return std::nullopt;
  return path.substr(directory.size() + 1);
}

Error no_such_target(const Config& config, const std::string& argument) {
  std::string known;
  for (const DatasetConfig& dataset : config.datasets) {
    known += (known.empty() ? "" : ", ") + dataset.path;
  }
  return Error{EINVAL, argument + ": in no dataset of " + config.file,
               "its datasets: " + known};
}

}  // namespace

Result<Target> resolve_target(const Config& config, const std::string& argument) {
  std::error_code ignored;
  std::string lexical =
      without_trailing_slash(fs::absolute(argument, ignored).lexically_normal().string());
  fs::path whole = fs::path(lexical);

  for (const DatasetConfig& dataset : config.datasets) {
    std::optional<std::string> name = name_below(dataset.path, lexical);
    if (!name) {
      // Only the directory part is resolved, because a frame is known by its name there.
      std::string real_dataset = fs::weakly_canonical(dataset.path, ignored).string();
      name = name_below(real_dataset, fs::weakly_canonical(whole, ignored).string());
      if (!name) {
        fs::path parent = fs::weakly_canonical(whole.parent_path(), ignored);
        name = name_below(real_dataset, (parent / whole.filename()).string());
      }
    }
    if (!name) continue;
    if (name->empty()) return Target{&dataset, std::nullopt};
    FrameSeq seq;
    if (!dataset.name.match(name->data(), name->size(), &seq)) {
      return Error{EINVAL, argument + ": not a frame of " + dataset.path,
                   "its frames are named " + dataset.frames};
    }
    return Target{&dataset, seq};
  }
  return no_such_target(config, argument);
}

Result<const DatasetConfig*> resolve_dataset(const Config& config,
                                             const std::string& argument) {
  Result<Target> target = resolve_target(config, argument);
  if (!target) return target.error();
  if (target->frame) {
    return Error{EINVAL, argument + ": a frame, not a dataset",
                 "its dataset is " + target->dataset->path};
  }
  return target->dataset;
}

const char* kind_name(FrameKind kind) {
  return kind == FrameKind::kNative ? "native" : "alien";
}

const char* kind_words(FrameKind kind) {
  return kind == FrameKind::kNative ? "pushed" : "fetched";
}

std::string frame_name(const DatasetConfig& dataset, FrameSeq seq) {
  char name[kMaxTemplate + 32];
  return std::string(name, dataset.name.format(seq, name, sizeof name));
}

}  // namespace zazen
