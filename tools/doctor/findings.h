// Findings: the results of an examination, one line each: ok, warn or fail, and the remedy.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace zazen {

class Findings {
 public:
  // `about` is one word; `text` is a phrase that begins with the subject.
  void ok(std::string about, std::string text);
  void warn(std::string about, std::string text, std::string hint);
  void fail(std::string about, std::string text, std::string hint);

  int failures() const { return count(kFail); }
  int warnings() const { return count(kWarn); }
  void print() const;
  nlohmann::ordered_json json() const;

 private:
  enum Level { kOk, kWarn, kFail };
  struct Finding {
    Level level;
    std::string about, text, hint;
  };
  int count(Level level) const;
  static const char* word(Level level);

  std::vector<Finding> findings_;
};

}  // namespace zazen
