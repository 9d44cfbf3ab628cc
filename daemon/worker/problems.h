// OriginProblems: which datasets' origins a person should look at, and which this user may list.
// An origin that does not answer within a limit delays nobody for longer.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bodhi/config.h"
#include "daemon/origin_lanes.h"

namespace zazen {

class OriginProblems {
 public:
  explicit OriginProblems(const Config& config) : config_(config) {}

  // One phrase each; empty if all is well. What another user may not reach is no problem.
  std::vector<std::string> find(bool is_own_user);
  // False also if the origin does not say.
  bool may_list(std::uint32_t dataset);

 private:
  std::function<int(std::chrono::milliseconds limit)> ask(std::uint32_t dataset,
                                                          std::function<int()> question);
  const Config& config_;
  OriginLanes lanes_{1};
};

}  // namespace zazen
