#include "daemon/origin_threads.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <optional>

#include "daemon/shortage.h"

namespace zazen {

int OriginThreads::ask(std::uint32_t dataset, std::function<int()> question,
                       std::chrono::milliseconds limit) {
  struct Answer {  // mutex_ protects it
    std::optional<int> code;
    bool overdue = false;
    std::condition_variable given;  // one for each, so that nobody else is woken
  };
  auto answer = std::make_shared<Answer>();
  std::unique_lock lock(mutex_);
  if (stopping_) return ECANCELED;
  std::size_t& overdue = overdue_[dataset];
  if (overdue >= threads_for_each_dataset_) return ETIMEDOUT;
  auto work = [this, &overdue, answer, question = std::move(question)] {
    int code = ENOMEM;
    despite_shortage([&] { code = question(); });
    std::lock_guard answering(mutex_);
    answer->code = code;
    answer->given.notify_one();
    if (answer->overdue) --overdue;
  };
  if (!questions_.post(dataset, std::move(work))) return EAGAIN;
  if (!answer->given.wait_for(lock, limit, [&] { return answer->code.has_value(); })) {
    answer->overdue = true;
    ++overdue;
    return ETIMEDOUT;
  }
  return *answer->code;
}

void OriginThreads::close(std::uint32_t dataset, UniqueFd fd) {
  if (!fd.valid()) return;
  // Nobody closes it here, which might block. One that is not queued stays open: at a stop the
  // process's end closes it.
  const int raw = fd.release();
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  despite_shortage([&] {
    closes_.post(
        dataset, [raw] { ::close(raw); }, WorkQueue::kAnyNumber);
  });
}

std::shared_ptr<const UniqueFd> OriginThreads::share(std::uint32_t dataset, UniqueFd fd) {
  return {new UniqueFd(std::move(fd)), [this, dataset](UniqueFd* last) {
            close(dataset, std::move(*last));
            delete last;
          }};
}

bool OriginThreads::stop(std::chrono::milliseconds limit) {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  using std::chrono::steady_clock;
  const steady_clock::time_point until = steady_clock::now() + limit;
  const bool answered = questions_.stop(limit);
  const auto left = std::chrono::floor<std::chrono::milliseconds>(until - steady_clock::now());
  return closes_.stop(left) && answered;
}

}  // namespace zazen
