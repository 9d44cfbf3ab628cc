// Reads one thing of a configuration that has an error: may it require that jobs are divided?
// `zazenctl run` asks, because a job without Zazen would then have another result (D24).
#pragma once
#include <string>

namespace zazen {

// True if a line of the text, which need not be TOML, says  filter = "require".
bool says_filter_require(const std::string& text);
// The same for a file and the files that it includes; false for those that cannot be read.
bool file_says_filter_require(const std::string& file);

}  // namespace zazen
