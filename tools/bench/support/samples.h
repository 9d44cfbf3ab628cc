// What many samples come to. On a machine with other work the average means little: the
// median of one round against the median of the next is what can be compared.
#pragma once
#include <vector>

namespace zazen {

// The smallest sample that is not below this fraction of all of them; 0 if there are none.
double percentile(std::vector<double> samples, double fraction);
double median(const std::vector<double>& samples);

}  // namespace zazen
