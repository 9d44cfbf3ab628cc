#include "daemon/store/group_commit.h"

#include <algorithm>
#include <iterator>

#include "daemon/process/shortage.h"

namespace zazen {
namespace {

template <class T>
void move_first(std::vector<T>& from, std::size_t count, std::vector<T>& to) {
  auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  to.assign(std::move_iterator(from.begin()), std::move_iterator(end));
  from.erase(from.begin(), end);
}

}  // namespace

// If there is no memory, nothing has changed but that a thread may find nothing to do.
void GroupCommit::enqueue(std::uint64_t worker, FinishedCopy copy,
                          std::function<void(int status)> done) {
  std::lock_guard lock(mutex_);
  auto [place, is_new] = lanes_.try_emplace(worker);
  Lane& lane = place->second;
  if (is_new &&
      !despite_shortage([&] { threads_.post([this, worker] { commit_all(worker); }); })) {
    lanes_.erase(place);
    throw std::bad_alloc();
  }
  lane.done.push_back(std::move(done));
  try {
    lane.copies.push_back(std::move(copy));
  } catch (const std::bad_alloc&) {
    lane.done.pop_back();
    throw;
  }
}

void GroupCommit::stop() {
  threads_.stop(WorkQueue::kForEver, WorkQueue::Queued::kDone);
}

void GroupCommit::commit_all(std::uint64_t worker) {
  std::vector<FinishedCopy> batch;
  std::vector<std::function<void(int)>> done;
  until_no_shortage([&] {
    batch.reserve(kLargestBatch);
    done.reserve(kLargestBatch);
  });
  for (;;) {
    std::unique_lock lock(mutex_);
    const auto place = lanes_.find(worker);
    Lane& lane = place->second;
    const std::size_t count = std::min(lane.copies.size(), kLargestBatch);
    if (count == 0) {
      lanes_.erase(place);
      return;
    }
    move_first(lane.copies, count, batch);
    move_first(lane.done, count, done);
    lock.unlock();
    publish(worker, batch);
    for (std::size_t i = 0; i < count; ++i) done[i](batch[i].status);
  }
}

// A copy that was not compared with its origin must not keep its name.
void GroupCommit::publish(std::uint64_t worker, std::vector<FinishedCopy>& batch) {
  const bool is_done = despite_shortage([&] {
    store_.name_copies(batch);
    origins_.verify(worker, batch);  // no lock is held, because an origin may be slow
    store_.confirm_copies(batch);
  });
  if (is_done) return;
  for (FinishedCopy& copy : batch) {
    until_no_shortage([&] { store_.give_up(copy); });
    copy.status = ENOMEM;
  }
}

}  // namespace zazen
