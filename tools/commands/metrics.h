// The daemon's status as Prometheus text. It has base units, and no path and no user in a
// label. The label of a dataset is its position in the configuration at the daemon's start.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace zazen {

// Throws the JSON library's exceptions if `status` is invalid.
std::string prometheus_text(const nlohmann::ordered_json& status);

}  // namespace zazen
