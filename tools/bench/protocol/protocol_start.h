// `zazen-bench protocol`: becomes zazen-bench-protocol, the program beside it that links MPI.
#pragma once
#include <optional>
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

// "1000", "1e9": a whole number of frames that the benchmark can do, else nothing.
std::optional<std::size_t> parse_frames(const std::string& text);

// Returns only if it fails.
Error start_protocol_bench(std::size_t frames, const std::string& workload, bool json);

}  // namespace zazen
