#include "tools/bench/support/samples.h"

#include <algorithm>
#include <cmath>

namespace zazen {

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

}  // namespace zazen
