#include "tools/bench/support/samples.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace zazen {
namespace {

template <class Operation>
std::vector<double> of_pairs(const std::vector<double>& left, const std::vector<double>& right,
                             Operation operation) {
  std::vector<double> results(std::min(left.size(), right.size()));
  std::transform(left.begin(), left.begin() + std::ssize(results), right.begin(),
                 results.begin(), operation);
  return results;
}

}  // namespace

double percentile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(samples.size())));
  auto chosen = samples.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(samples.begin(), chosen, samples.end());
  return *chosen;
}

double median(const std::vector<double>& samples) {
  return percentile(samples, 0.5);
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  return of_pairs(of, to, std::divides<>());
}

std::vector<double> differences(const std::vector<double>& of, const std::vector<double>& to) {
  return of_pairs(of, to, std::minus<>());
}

nlohmann::ordered_json spread_of(const std::vector<double>& ratios) {
  return {{"ratio", median(ratios)},
          {"lowest_ratio", percentile(ratios, 0)},
          {"highest_ratio", percentile(ratios, 1)}};
}

void Turns::add(const std::vector<double>& turn) {
  medians.push_back(median(turn));
  all.insert(all.end(), turn.begin(), turn.end());
}

}  // namespace zazen
