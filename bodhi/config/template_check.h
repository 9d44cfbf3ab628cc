// TemplateCheck: do the files of a directory match a dataset's template, and which template
// would match them?
//
// A template that matches nothing is no error: the frames may still be written. But if the
// directory has other files, the template is probably misspelt. Reads by raw system calls, and
// may block as long as the file system does.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"
#include "bodhi/config/template_guess.h"

namespace zazen {

// The files of a directory, without hidden ones. If no number varies in their names, the files
// of sub-directories are included, down to two levels.
struct DirectoryNames {
  static constexpr std::size_t kMost = 4096;
  std::vector<std::string> names;  // relative to it; the first ones if it has more
  bool is_whole = true;
  TemplateGuess guess;
};
Result<DirectoryNames> examine_directory(const std::string& path);

// "0 of 500 names match f{seq}; frame-{seq:06}.xtc would match all". "" if a name matches, if
// there is no file, or if the directory cannot be listed. *matches: a name matches.
std::string describe_mismatch(const DatasetConfig& dataset, bool* matches = nullptr);

inline constexpr char kMismatchHint[] =
    "correct its frames = \"...\" in the configuration, and restart zazend";

}  // namespace zazen
