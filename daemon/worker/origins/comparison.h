// Compares copies with the origin's files: the worker's half of daemon/validation/sample.h.
#pragma once
#include <cstdint>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

// 0, or an errno if the origin cannot be asked. Takes as long as the origin takes.
int compare_with_origins(const DatasetConfig& dataset, const std::vector<CopyToCompare>& copies,
                         std::size_t threads, std::vector<Comparison>* outcomes);

}  // namespace zazen
