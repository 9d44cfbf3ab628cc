// Looks at the origin's frame of this name for content of this size: status, facts and digest
// (daemon/origin/adoption.h). Takes as long as the origin takes.
#pragma once
#include <string>

#include "bodhi/config/config.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

OriginLook look_at_origin(const DatasetConfig& dataset, const std::string& name,
                          std::uint64_t bytes, bool all_users);

}  // namespace zazen
