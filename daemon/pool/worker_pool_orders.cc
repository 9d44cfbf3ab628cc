// What zazend has its workers do: orders, with a reply or without.
#include <fcntl.h>

#include <algorithm>
#include <set>

#include "daemon/pool/worker_pool.h"

namespace zazen {

using Clock = std::chrono::steady_clock;

int WorkerPool::exchange(WorkerId id, LinkPacket& packet, std::uint32_t dataset,
                         std::chrono::milliseconds limit) {
  const WorkerPointer worker = find(id);
  if (!worker) return EPIPE;
  if (packet.body.size() > kLongestLinkBody) return EMSGSIZE;
  std::unique_lock lock(worker->mutex_);
  if (worker->is_gone_ || worker->has_left_) return EPIPE;
  if (!worker->answers(dataset)) return ETIMEDOUT;
  const std::shared_ptr<Worker::Order> order = worker->enqueue_order(packet, true);
  if (!order) return ETIMEDOUT;
  const std::uint64_t number = worker->next_order_ - 1;
  order->answered.wait_for(lock, limit,
                           [&] { return order->reply.has_value() || order->is_over; });
  if (order->is_over) return ECANCELED;
  if (!order->reply) {
    worker->orders_.erase(number);
    worker->overdue_.emplace(number, dataset);
    return ETIMEDOUT;
  }
  packet = std::move(*order->reply);
  return packet.status;
}

void WorkerPool::exchange_all(LinkType type, const std::string& body,
                              std::chrono::milliseconds limit, const Look& look,
                              const Whom& whom) {
  const Clock::time_point deadline = Clock::now() + limit;
  struct Asked {
    WorkerPointer worker;
    std::shared_ptr<Worker::Order> order;
    std::uint64_t number;
  };
  std::vector<Asked> asked;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, worker] : workers_) {
      if (whom(*worker)) asked.push_back({worker, nullptr, 0});
    }
  }
  for (auto& [worker, order, number] : asked) {
    LinkPacket packet;
    packet.type = type;
    packet.body = body;
    std::lock_guard lock(worker->mutex_);
    if (type == LinkType::kReportFigures && worker->late_figures_ != 0) continue;
    order = worker->enqueue_order(packet, false);
    number = worker->next_order_ - 1;
  }
  for (const auto& [worker, order, number] : asked) {
    if (!order) continue;
    std::unique_lock lock(worker->mutex_);
    order->answered.wait_until(lock, deadline,
                               [&] { return order->reply.has_value() || order->is_over; });
    if (!order->reply && !order->is_over) {
      worker->orders_.erase(number);
      if (type == LinkType::kReportFigures) worker->late_figures_ = number;
    }
    const std::optional<LinkPacket> reply = std::move(order->reply);
    lock.unlock();
    if (look && reply && reply->status == 0) look(*worker, *reply);
  }
}

bool WorkerPool::tell_worker(WorkerId id, LinkType type, const std::string& body,
                             const UniqueFd& file, bool is_use) {
  const WorkerPointer worker = find(id);
  if (!worker) return false;
  LinkPacket packet;
  packet.type = type;
  packet.body = body;
  if (file.valid()) packet.files.emplace_back(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  std::lock_guard lock(worker->mutex_);
  return worker->enqueue(packet, is_use);
}

bool WorkerPool::tell_workers_of(uid_t uid, LinkType type, const std::string& body,
                                 bool with_all_groups) {
  std::set<WorkerCredentials> whom;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [credentials, id] : by_credentials_) {
      if (credentials.uid == uid && !credentials.is_listener) whom.insert(credentials);
    }
    const auto last = last_credentials_.find(uid);
    if (last != last_credentials_.end() && (with_all_groups || whom.empty())) {
      whom.insert(last->second);
    }
  }
  const bool has_account_groups =
      std::ranges::any_of(whom, [](const auto& one) { return one.looks_up_groups; });
  if (whom.empty() || (with_all_groups && !has_account_groups)) {
    whom.insert({uid, kNobody, {}, true});
  }
  bool is_told = true;
  for (const WorkerCredentials& credentials : whom) {
    const WorkerPointer worker = find_or_start(credentials, false, true);
    is_told = worker && tell_worker(worker->id(), type, body, {}, with_all_groups) && is_told;
  }
  return is_told;
}

}  // namespace zazen
