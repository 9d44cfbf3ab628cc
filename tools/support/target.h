// Target: the meaning of an argument, a dataset or one of its frames.
#pragma once
#include <optional>
#include <string>

#include "bodhi/config/config.h"

namespace zazen {

struct Target {
  const DatasetConfig* dataset;
  std::optional<FrameSeq> frame;
};

// Resolves the argument as written (made absolute, "." and ".." resolved lexically), else by
// its real path. The error's context is the whole message.
Result<Target> resolve_target(const Config& config, const std::string& argument);
// The same, and the argument must be a dataset.
Result<const DatasetConfig*> resolve_dataset(const Config& config, const std::string& argument);

const char* kind_name(FrameKind kind);   // for JSON: "native", "alien"
const char* kind_words(FrameKind kind);  // for people: "pushed", "fetched"
std::string frame_name(const DatasetConfig& dataset, FrameSeq seq);

}  // namespace zazen
