// Reads the only line of the configuration that the shim needs: runtime = "..." at top level
// (D3). The shim has no TOML parser; the daemon refuses a file for which this scan and TOML
// disagree. Lean.
#pragma once
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr std::size_t kRuntimeScanBytes = 64 * 1024;

// Finds the first top-level line  runtime = "DIR"  before any [table]; plain characters
// only, no escapes. Returns DIR's length and copies it with a NUL, or 0.
std::size_t scan_runtime_line(const char* text, std::size_t length, char* out,
                              std::size_t capacity);

// The same for a file, by raw system calls; scans only the first kRuntimeScanBytes.
std::size_t scan_runtime_file(const char* path, char* out, std::size_t capacity);

}  // namespace zazen
