#include "daemon/origin_threads.h"

#include <cerrno>
#include <optional>

namespace zazen {

OriginThreads::Lane& OriginThreads::lane(std::uint32_t dataset) {
  auto [it, is_new] = lanes_.try_emplace(dataset);
  if (is_new) threads_.start([this, &lane = it->second] { run(lane); });
  return it->second;
}

int OriginThreads::ask(std::uint32_t dataset, std::function<int()> question,
                       std::chrono::milliseconds limit) {
  struct Answer {  // mutex_ protects it
    std::optional<int> code;
    std::condition_variable given;  // one for each, so that nobody else is woken
  };
  auto answer = std::make_shared<Answer>();
  std::unique_lock lock(mutex_);
  if (stopping_) return ECANCELED;
  Lane& asked = lane(dataset);
  if (asked.overdue) return ETIMEDOUT;
  asked.queue.push_back([this, answer, question = std::move(question)] {
    int code = question();
    std::lock_guard answering(mutex_);
    answer->code = code;
    answer->given.notify_one();
  });
  asked.changed.notify_one();
  if (!answer->given.wait_for(lock, limit, [&] { return answer->code.has_value(); })) {
    asked.overdue = true;
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
  Lane& closing = lane(dataset);
  closing.queue.push_back([owned] { owned->reset(); });
  closing.changed.notify_one();
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
    lane.changed.wait(lock, [&] { return stopping_ || !lane.queue.empty(); });
    if (lane.queue.empty()) return;
    std::function<void()> work = std::move(lane.queue.front());
    lane.queue.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    lane.overdue = false;
  }
}

}  // namespace zazen
