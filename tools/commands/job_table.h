// Output of `zazenctl report` for several jobs: the list of all, and two of them side by side.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/commands/job_record.h"

namespace zazen {

inline constexpr std::size_t kNumberShown = 8;  // digits; any beginning identifies a job

void print_job_list(const std::vector<JobRecord>& jobs, bool as_json);
void print_comparison(const JobRecord& first, const JobRecord& second, bool as_json);

// The most frequent calls for files beside the frames, as a table; prints nothing if there is
// none.
void print_other_calls(const std::vector<OtherCalls>& others);

nlohmann::ordered_json json_of(const std::vector<OtherCalls>& others);

std::string duration_words(std::int64_t ns);                   // "1.3 s", as in the summary
std::string began_words(std::int64_t ns, const char* format);  // local time, as in strftime

}  // namespace zazen
