// Datasets that come from elsewhere than the configuration's [[dataset]] blocks: those that
// users add, and the directories that a path with '*' stands for. The blocks take precedence.
#pragma once
#include <string>
#include <vector>

#include "bodhi/config/config.h"

namespace zazen {

struct LeftOut {
  std::string path;
  std::string why;  // a phrase
};

// Appends the datasets that overlap no other and find a position. Returns the others.
std::vector<LeftOut> join_datasets(const std::vector<DatasetConfig>& more,
                                   const FollowLinks& follow, Config* config);

// "" if a directory with this path may be a dataset; else a phrase. Such paths come from users,
// and from origins: they are absolute, normal, printable and valid UTF-8.
std::string describe_bad_path(const std::string& path);
// No control characters, which could be taken for the end of a line or move a terminal's
// cursor.
bool is_printable_utf8(const std::string& text);

}  // namespace zazen
