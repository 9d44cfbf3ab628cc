#include "daemon/origin_threads.h"

#include <cerrno>
#include <optional>
#include <system_error>

namespace zazen {

void OriginThreads::post(Lane& lane, std::size_t most_threads, std::function<void()> work) {
  lane.queue.push_back(std::move(work));
  if (lane.queue.size() > lane.idle && lane.threads < most_threads) {
    try {
      threads_.start([this, &lane] { run(lane); });
      ++lane.threads;
    } catch (const std::system_error&) {
      // No thread is to be had now: one that there is, or the next one, does it.
    }
  }
  lane.changed.notify_one();
}

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
  Lane& asked = lanes_[dataset];
  if (asked.overdue >= threads_for_each_dataset_) return ETIMEDOUT;
  post(asked, threads_for_each_dataset_,
       [this, &asked, answer, question = std::move(question)] {
         int code = question();
         std::lock_guard answering(mutex_);
         answer->code = code;
         answer->given.notify_one();
         if (answer->overdue) --asked.overdue;
       });
  if (!answer->given.wait_for(lock, limit, [&] { return answer->code.has_value(); })) {
    answer->overdue = true;
    ++asked.overdue;
    return ETIMEDOUT;
  }
  return *answer->code;
}

void OriginThreads::close(std::uint32_t dataset, UniqueFd fd) {
  if (!fd.valid()) return;
  std::lock_guard lock(mutex_);
  if (stopping_) {
    fd.release();  // the process's end closes it
    return;
  }
  auto owned = std::make_shared<UniqueFd>(std::move(fd));
  post(lanes_[dataset], 1, [owned] { owned->reset(); });
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
    for (auto& [dataset, lane] : lanes_) lane.changed.notify_all();
  }
  return threads_.join_for(limit);
}

void OriginThreads::run(Lane& lane) {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++lane.idle;
    lane.changed.wait(lock, [&] { return stopping_ || !lane.queue.empty(); });
    --lane.idle;
    if (lane.queue.empty()) return;
    std::function<void()> work = std::move(lane.queue.front());
    lane.queue.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace zazen
