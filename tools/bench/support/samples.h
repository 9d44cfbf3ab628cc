// Summaries of many samples. On a machine with other work the average means little: the
// median of one round against the median of the next is what can be compared.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace zazen {

// The smallest sample that is not below this fraction of all of them; 0 if there are none.
double percentile(std::vector<double> samples, double fraction);
double median(const std::vector<double>& samples);

// Of the pairs with the same index, as far as both have one.
std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to);
std::vector<double> differences(const std::vector<double>& of, const std::vector<double>& to);
// "ratio", the median, "lowest_ratio" and "highest_ratio".
nlohmann::ordered_json spread_of(const std::vector<double>& ratios);

struct Turns {  // of one side, at one case
  std::vector<double> all, medians;

  void add(const std::vector<double>& turn);
};

}  // namespace zazen
