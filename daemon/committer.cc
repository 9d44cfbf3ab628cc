#include "daemon/committer.h"

#include <algorithm>
#include <iterator>

#include "daemon/shortage.h"

namespace zazen {
namespace {

template <class T>
void move_first(std::vector<T>& from, std::size_t count, std::vector<T>& to) {
  auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  to.assign(std::move_iterator(from.begin()), std::move_iterator(end));
  from.erase(from.begin(), end);
}

}  // namespace

// If there is no memory, nothing has changed but that a thread finds nothing to do.
void Committer::enqueue(FinishedCopy copy, std::function<void(int status)> done) {
  std::lock_guard lock(mutex_);
  const std::uint32_t dataset = copy.dataset;
  Lane& lane = lanes_[dataset];
  if (lane.copies.empty()) threads_.post(dataset, [this, &lane] { commit_all(lane); });
  lane.done.push_back(std::move(done));
  try {
    lane.copies.push_back(std::move(copy));
  } catch (const std::bad_alloc&) {
    lane.done.pop_back();
    throw;
  }
}

void Committer::commit_all(Lane& lane) {
  std::vector<FinishedCopy> batch;
  std::vector<std::function<void(int)>> done;
  until_no_shortage([&] {
    batch.reserve(kLargestBatch);
    done.reserve(kLargestBatch);
  });
  for (;;) {
    std::unique_lock lock(mutex_);
    const std::size_t count = std::min(lane.copies.size(), kLargestBatch);
    move_first(lane.copies, count, batch);
    move_first(lane.done, count, done);
    lock.unlock();
    if (count == 0) return;
    publish(batch);
    for (std::size_t i = 0; i < count; ++i) done[i](batch[i].status);
  }
}

// A copy that was not compared with its origin must not keep its name.
void Committer::publish(std::vector<FinishedCopy>& batch) {
  if (despite_shortage([&] { store_.publish(batch); })) return;
  for (FinishedCopy& copy : batch) {
    until_no_shortage([&] { store_.drop(copy.dataset, std::span(&copy.seq, 1)); });
    copy.status = ENOMEM;
  }
}

}  // namespace zazen
