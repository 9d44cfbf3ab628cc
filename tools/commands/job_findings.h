// What a job's records say in words, for `zazenctl report`: frames that no rank read, how each
// rank ended, and what to do. The same sentences stand on the terminal and in the page.
#pragma once
#include <string>
#include <vector>

#include "tools/commands/job_record.h"

namespace zazen {

// "rank 3", "ranks 0-5, 8 and 9"
std::string rank_words(const std::vector<std::size_t>& ranks);
// The frames by name, as runs: "f3, f7 to f9". `frames` is their template.
std::string frame_words(const std::string& frames, const FrameSet& set);
// Of a dataset, as the job had it.
std::string template_of(const JobRecord& job, const std::string& path);

std::string ending_words(const RankRecord* rank);  // null: it left nothing here
const char* life_words(Life life);

// Frames of one dataset that a rank should have read, and that no rank read.
struct Lost {
  std::size_t rank;
  FrameSet frames;
};
std::vector<Lost> lost_frames(const JobAudit& job, const std::string& path);

struct Advice {
  bool is_good = false;  // the job ended, and each frame was read exactly once
  std::vector<std::string> lines;
};
// For the person who runs the job.
Advice advice_on(const JobRecord& job, const JobAudit& audited);

// The earlier run of the same command with which this one is compared; null if there is none.
const EarlierRun* earlier_run(const JobRecord& job);

}  // namespace zazen
