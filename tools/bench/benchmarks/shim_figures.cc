#include "tools/bench/benchmarks/shim_figures.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "tools/bench/support/figures_json.h"

namespace zazen {
namespace {

double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

std::string time_text(double ns) {
  return fmt::format("{:.2f}", ns / 1000);
}

}  // namespace

double ShimFigures::exec_added_us() const {
  for (const CaseFigures& each : cases) {
    if (each.what->kind == CaseKind::kExec) return each.added_ns / 1000;
  }
  return 0;
}

void print_figures(const ShimFigures& figures) {
  fmt::print("{:<30} {:>9} {:>9} {:>9} {:>9} {:>7}\n", "microseconds", "plain p50", "p99",
             "shim p50", "p99", "ratio");
  for (const CaseFigures& each : figures.cases) {
    fmt::print("{:<30} {:>9} {:>9} {:>9} {:>9} {:>7.3f}\n", each.what->title,
               time_text(each.plain_ns_p50), time_text(each.plain_ns_p99),
               time_text(each.shim_ns_p50), time_text(each.shim_ns_p99), each.ratio);
  }
  fmt::print(
      "\nread: open, fstat, read, close. plain: the copy in the cache, without the shim.\n"
      "The shim adds {:.0f} us to an exec. {} opens of frames, all from the cache.\n",
      figures.exec_added_us(), format_count(figures.hits));
}

void print_figures_as_json(const ShimFigures& figures) {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  for (const CaseFigures& each : figures.cases) {
    cases.push_back({{"name", each.what->name},
                     {"bytes", each.what->bytes},
                     {"plain_ns_p50", rounded(each.plain_ns_p50, 10)},
                     {"plain_ns_p99", rounded(each.plain_ns_p99, 10)},
                     {"shim_ns_p50", rounded(each.shim_ns_p50, 10)},
                     {"shim_ns_p99", rounded(each.shim_ns_p99, 10)},
                     {"ratio", rounded(each.ratio, 10'000)}});
  }
  nlohmann::ordered_json all = {{"cases", cases},
                                {"exec_added_us", rounded(figures.exec_added_us(), 10)},
                                {"hits", figures.hits},
                                {"rounds", figures.rounds}};
  print_figures_json(all);
}

}  // namespace zazen
