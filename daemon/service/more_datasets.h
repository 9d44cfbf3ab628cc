// Datasets beside the [[dataset]] blocks: those of users, and the directories of paths with
// '*'. What is left out, because it overlaps another one, is logged.
#pragma once
#include <vector>

#include "bodhi/config/expand_paths.h"
#include "bodhi/config/joined_datasets.h"
#include "daemon/service/user_datasets.h"

namespace zazen {

// Nothing if the configuration takes no datasets of users.
void add_datasets_of_users(const UserDatasets& users, const FollowLinks& follow,
                           Config* config);

// One answer for each of config->patterns. Where an origin has not answered, the datasets of
// `before` that match the pattern stay. A look that is repeated logs nothing: before is null.
void add_datasets_of_patterns(const std::vector<ExpandedPath>& expanded, const Config* before,
                              const FollowLinks& follow, Config* config);

// The same without the datasets that are removed.
Config served_part(const Config& config);

}  // namespace zazen
