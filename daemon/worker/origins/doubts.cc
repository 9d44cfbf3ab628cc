#include "daemon/worker/origins/doubts.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/process/shortage.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

// The origin says that the user cannot search there. Any other errno says nothing: a directory
// that is missing may be moved back.
bool is_refusal(int code) {
  return code == EACCES || code == EPERM;
}

void call(const std::vector<Doubts::Settled>& settled) {
  for (const Doubts::Settled& one : settled) despite_shortage(one);
}

}  // namespace

void Doubts::cast(std::uint32_t dataset, Why why, Settled settled) {
  if (dataset >= kMaxDatasets) {  // no program of ours names it
    if (settled) settled();
    return;
  }
  std::lock_guard lock(mutex_);
  Question& question = questions_[dataset];
  if (settled) question.settled.push_back(std::move(settled));
  question.why = std::max(question.why, why);
  if (!std::exchange(question.is_open, true)) question.since = Clock::now();
  post(dataset);
}

void Doubts::post(std::uint32_t dataset) {
  if (questions_[dataset].is_posted) return;
  despite_shortage([&] {
    lanes_.post(dataset, [this, dataset] { ask(dataset); });
    questions_[dataset].is_posted = true;
  });
}

Doubts::Question Doubts::close(std::uint32_t dataset) {
  ++settling_;
  return std::exchange(questions_[dataset], {});
}

void Doubts::ask(std::uint32_t dataset) {
  int code = ENOMEM;
  despite_shortage([&] { code = hooks_.may_search(dataset); });
  Question settled;
  {
    std::lock_guard lock(mutex_);
    Question& question = questions_[dataset];
    question.is_posted = false;
    if (!question.is_open || (code != 0 && !is_refusal(code))) return;
    settled = close(dataset);
  }
  settle(dataset, settled, code == 0);
}

void Doubts::ask_again() {
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
    Question settled;
    {
      std::lock_guard lock(mutex_);
      Question& question = questions_[i];
      if (!question.is_open) continue;
      if (Clock::now() - question.since < limit_) {
        post(i);
        continue;
      }
      const bool is_posted = question.is_posted;
      settled = close(i);
      question.is_posted = is_posted;  // that thread finds it closed
    }
    settle(i, settled, true);
  }
}

void Doubts::settle(std::uint32_t dataset, const Question& question, bool is_believed) {
  if (is_believed) {
    until_no_shortage([&] {
      hooks_.tell(dataset, question.why, [settled = question.settled] { call(settled); });
    });
  }
  std::unique_lock lock(mutex_);
  --settling_;
  lock.unlock();
  if (!is_believed) call(question.settled);
}

bool Doubts::is_empty() const {
  std::lock_guard lock(mutex_);
  return settling_ == 0 && std::ranges::none_of(questions_, &Question::is_open);
}

}  // namespace zazen
