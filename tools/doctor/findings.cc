#include "tools/doctor/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {

void Findings::ok(std::string about, std::string text) {
  findings_.push_back({kOk, std::move(about), std::move(text), {}});
}

void Findings::warn(std::string about, std::string text, std::string hint) {
  findings_.push_back({kWarn, std::move(about), std::move(text), std::move(hint)});
}

void Findings::fail(std::string about, std::string text, std::string hint) {
  findings_.push_back({kFail, std::move(about), std::move(text), std::move(hint)});
}

int Findings::count(Level level) const {
  return static_cast<int>(
      std::count_if(findings_.begin(), findings_.end(),
                    [level](const Finding& each) { return each.level == level; }));
}

const char* Findings::word(Level level) {
  static constexpr const char* kWords[] = {"ok", "warn", "fail"};
  return kWords[level];
}

void Findings::print() const {
  for (const Finding& each : findings_) {
    std::string level = fmt::format("{:4}", word(each.level));
    level = coloured(level, each.level == kOk ? Colour::kGood : Colour::kBad);
    print_line("{}  {:13}  {}", level, each.about, printable(each.text));
    if (!each.hint.empty()) print_line("      hint: {}", printable(each.hint));
  }
}

nlohmann::ordered_json Findings::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& each : findings_) {
    list.push_back({{"level", word(each.level)},
                    {"about", each.about},
                    {"text", each.text},
                    {"hint", each.hint}});
  }
  return list;
}

}  // namespace zazen
