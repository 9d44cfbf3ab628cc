// The daemon's status as Prometheus text. Base units, and no path and no user in a label: a
// dataset is told by its position, which is that in the configuration when the daemon started.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace zazen {

// Throws the JSON library's exceptions if it is no status.
std::string prometheus_text(const nlohmann::ordered_json& status);

}  // namespace zazen
