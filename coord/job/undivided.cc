#include "coord/job/undivided.h"

#include <fmt/format.h>

#include <algorithm>

namespace zazen {
namespace {

std::string paths_of(const std::vector<LeftOut>& datasets) {
  std::string text;
  for (const LeftOut& dataset : datasets) text += (text.empty() ? "" : ", ") + dataset.path;
  return text;
}

// One reason, or "/a: No such file or directory; /b: Permission denied".
std::string reason_of(const std::vector<LeftOut>& datasets) {
  if (datasets.size() == 1) return datasets.front().why;
  std::string text;
  for (const LeftOut& dataset : datasets)
    text += (text.empty() ? "" : "; ") + dataset.path + ": " + dataset.why;
  return text;
}

DivisionVerdict verdict(bool ends, const char* how_far, std::string paths,
                        const std::string& reason) {
  if (!paths.empty()) paths = " of " + paths;
  if (ends)
    return {fmt::format("zazen: this job ends: the frames{} cannot be divided among the ranks: "
                        "{} (--no-divide or ZAZEN_FILTER=off: it runs undivided)",
                        paths, reason),
            true};
  return {fmt::format("zazen: this job is {} divided: every rank sees all frames{}: {} "
                      "(--no-divide or ZAZEN_FILTER=off: no message)",
                      how_far, paths, reason),
          false};
}

}  // namespace

DivisionVerdict verdict_on(const Agreement& agreement) {
  if (agreement.ranks == 1 && agreement.launched <= 1) return {};
  const std::vector<LeftOut>& left_out = agreement.left_out;
  const bool one_is_required =
      std::ranges::count(left_out, FilterMode::kRequire, &LeftOut::filter) != 0;
  if (!left_out.empty())
    return verdict(one_is_required, agreement.filtered ? "only partly" : "not",
                   paths_of(left_out), reason_of(left_out));
  if (agreement.filtered || agreement.expected == FilterMode::kOff) return {};
  return verdict(agreement.expected == FilterMode::kRequire, "not", agreement.expected_paths,
                 agreement.reason);
}

}  // namespace zazen
