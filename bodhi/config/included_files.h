// The files that `include = "conf.d/*.toml"` names. They are read at once, so that what is
// checked is what counts.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct IncludedFile {
  std::string path, text;
};

// The pattern is relative to the directory of the configuration. Only its last component may
// have a '*', which stands for any characters, and it ends in ".toml". The files come in the
// order of their names; none, or no directory, is fine. For root the directory and the files
// must be such that only root can write to them. The error's context is the reason.
Result<std::vector<IncludedFile>> read_included(const std::string& config_file,
                                                const std::string& pattern);

// Their paths only.
Result<std::vector<std::string>> included_paths(const std::string& config_file,
                                                const std::string& pattern);

// '*' in the pattern stands for any number of any characters.
bool matches_pattern(const std::string& name, const std::string& pattern);

}  // namespace zazen
