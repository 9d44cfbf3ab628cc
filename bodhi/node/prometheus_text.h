// The daemon's status as Prometheus text, in base units. Each figure has the label `node`; that
// of a dataset also has its path as `dataset`. No user is in a label.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace zazen {

// Throws the JSON library's exceptions if `status` is invalid.
std::string prometheus_text(const nlohmann::ordered_json& status);

}  // namespace zazen
