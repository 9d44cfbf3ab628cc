// DetachedLooks: looks at file systems that may not answer, one for each text. Each look has a
// thread of its own, which may outlive the call. A text whose look is under way gets no second
// thread: a later call takes its answer. So a file system that hangs occupies one thread for
// each text, however often somebody asks.
//
// Thread safe. Such an object lives as long as the process.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bodhi/common/no_signals.h"

namespace zazen {

template <class Answer>
class DetachedLooks {
 public:
  explicit DetachedLooks(std::function<Answer(const std::string&)> look)
      : look_(std::move(look)) {}

  // Nothing for those that have not answered within the limit.
  std::vector<std::optional<Answer>> ask(const std::vector<std::string>& texts,
                                         std::chrono::milliseconds limit) {
    const Clock::time_point deadline = Clock::now() + limit;
    std::vector<std::shared_ptr<Look>> looks;
    for (const std::string& text : texts) looks.push_back(begin(text));
    std::vector<std::optional<Answer>> answers;
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      answers.emplace_back();
      if (!looks[i]) continue;
      changed_.wait_until(lock, deadline, [&] { return looks[i]->answer.has_value(); });
      if (!looks[i]->answer) continue;
      answers.back() = looks[i]->answer;
      const auto found = under_way_.find(texts[i]);
      if (found != under_way_.end() && found->second == looks[i]) under_way_.erase(found);
    }
    return answers;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{5};  // an older answer may be out of date
  struct Look {
    std::optional<Answer> answer;
    Clock::time_point ended;
  };

  // Null: the system refuses a thread.
  std::shared_ptr<Look> begin(const std::string& text) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Look>& known = under_way_[text];
    if (known && (!known->answer || Clock::now() - known->ended < kFresh)) return known;
    auto look = std::make_shared<Look>();
    try {
      NoSignals no_signals;
      std::thread([this, text, look] {
        Answer answer = look_(text);
        std::lock_guard done(mutex_);
        look->answer = std::move(answer);
        look->ended = Clock::now();
        changed_.notify_all();
      }).detach();
    } catch (const std::system_error&) {
      under_way_.erase(text);
      return nullptr;
    }
    return known = look;
  }

  const std::function<Answer(const std::string&)> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Look>> under_way_;  // those whose answer nobody took
};

}  // namespace zazen
