#include "daemon/pool/running_worker.h"

#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <ranges>
#include <thread>

#include "daemon/process/shortage.h"

namespace zazen {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kContentLimit(10);
constexpr std::chrono::milliseconds kContentPause(5);

bool is_content(LinkType type) {
  return type == kLinkType<StatusAsk> || type == kLinkType<ListAsk> ||
         type == kLinkType<ReloadAsk> || type == kLinkType<Natives>;
}

}  // namespace

int RunningWorker::exchange(LinkPacket& packet, std::uint32_t dataset,
                            std::chrono::milliseconds limit) {
  if (packet.body.size() > kLongestLinkBody) return EMSGSIZE;
  std::unique_lock lock(mutex_);
  if (is_gone_ || has_left_) return EPIPE;
  if (!answers(dataset)) return ETIMEDOUT;
  const std::shared_ptr<Order> order = enqueue_order(packet, true);
  if (!order) return ETIMEDOUT;
  order->answered.wait_for(lock, limit,
                           [&] { return order->reply.has_value() || order->is_over; });
  if (order->is_over) return ECANCELED;
  if (!order->reply) {
    orders_.erase(order->number);
    overdue_.emplace(order->number, dataset);
    return ETIMEDOUT;
  }
  packet = std::move(*order->reply);
  return packet.status;
}

// Nobody is asked for figures while an earlier answer is overdue.
std::shared_ptr<RunningWorker::Order> RunningWorker::begin_order(const LinkPacket& order) {
  LinkPacket packet = order.copy();
  std::lock_guard lock(mutex_);
  if (order.type == kLinkType<ReportFigures> && late_figures_ != 0) return nullptr;
  return enqueue_order(packet, false);
}

std::optional<LinkPacket> RunningWorker::end_order(const std::shared_ptr<Order>& order,
                                                   Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  order->answered.wait_until(lock, deadline,
                             [&] { return order->reply.has_value() || order->is_over; });
  if (!order->reply && !order->is_over) {
    orders_.erase(order->number);
    if (order->type == kLinkType<ReportFigures>) late_figures_ = order->number;
  }
  return std::move(order->reply);
}

void RunningWorker::post(std::uint32_t dataset, std::function<void()> work) {
  if (dataset == kNoDataset) {
    general_.post(std::move(work));
  } else {
    lanes_.post(dataset, std::move(work), WorkQueue::kAnyNumber);
  }
}

void RunningWorker::post_long(std::function<void()> work) {
  long_.post(std::move(work));
}

void RunningWorker::reply(LinkType type, std::uint64_t request, int status, std::string body,
                          std::vector<UniqueFd> files) noexcept {
  if (request == 0) return end_ask();
  LinkPacket packet;
  packet.type = type;
  packet.is_reply = true;
  packet.request = request;
  packet.status = status;
  packet.body = std::move(body);
  packet.files = std::move(files);
  std::lock_guard lock(mutex_);
  if (is_gone_) return;
  const bool is_kept = despite_shortage([&] { waiting_.push_back(std::move(packet)); });
  if (!is_kept) has_lost_ = true;  // it would be waited for
  if (!is_kept) ::eventfd_write(wake_, 1);
  send_soon();
}

// A reply that the worker has not taken counts as an ask that is not answered.
void RunningWorker::end_ask() {
  if (--asks_ == kMostAsks / 2) ::eventfd_write(wake_, 1);
}

// Every ask for content comes here once and is replied to once, so that the count is right.
bool RunningWorker::await_room_for_content() {
  const Clock::time_point until = Clock::now() + kContentLimit;
  std::unique_lock lock(mutex_);
  for (;; lock.lock()) {
    forget_taken_contents();
    const bool has_room = contents_ < kMostContents;
    if (has_room || is_gone_ || Clock::now() >= until) {
      ++contents_;
      return has_room;
    }
    lock.unlock();
    std::this_thread::sleep_for(kContentPause);
  }
}

// The kernel tells how many bytes of the socket are not read, overhead included. While a
// message is not read, that is at least the bytes that were sent from it on.
void RunningWorker::forget_taken_contents() {
  int unread = 0;
  if (::ioctl(send_.get(), SIOCOUTQ, &unread) != 0) return;
  while (contents_sent_ > 0 &&
         static_cast<std::uint64_t>(unread) < sent_bytes_ - sent_contents_[first_content_]) {
    first_content_ = (first_content_ + 1) % kMostContents;
    --contents_sent_;
    --contents_;
  }
}

int RunningWorker::send(const LinkPacket& packet) {
  const int code = send_to_worker(send_.get(), packet);
  if (code != 0) return code;
  if (packet.is_reply && is_content(packet.type)) {
    if (!packet.files.empty()) {
      sent_contents_[(first_content_ + contents_sent_++) % kMostContents] = sent_bytes_;
    } else {
      --contents_;
    }
  }
  sent_bytes_ += kLinkHeaderBytes + packet.body.size();
  return 0;
}

void RunningWorker::note(WorkerFigures figures) {
  std::lock_guard lock(mutex_);
  figures_ = std::move(figures);
}

int RunningWorker::take_leave(std::uint64_t orders_seen) {
  std::lock_guard lock(mutex_);
  if (orders_seen != sent_ || !orders_.empty() || has_waiting()) return EAGAIN;
  has_left_ = true;
  return 0;
}

bool RunningWorker::enqueue(LinkPacket& packet, bool is_use) {
  if (is_gone_ || has_left_ || waiting_.size() >= kMostMessages) return false;
  waiting_.push_back(std::move(packet));
  if (is_use) used_at_ = Clock::now();
  send_soon();
  return true;
}

bool RunningWorker::enqueue_connection(UniqueFd& socket, pid_t pid) {
  if (is_gone_ || has_left_) return false;
  closer_.close(credentials_.uid, connections_.add(socket, pid));
  used_at_ = Clock::now();
  send_soon();
  return true;
}

std::shared_ptr<RunningWorker::Order> RunningWorker::enqueue_order(LinkPacket& packet,
                                                                   bool is_use) {
  auto order = std::make_shared<Order>();
  order->type = packet.type;
  order->number = packet.request = next_order_++;
  const auto kept = orders_.emplace(packet.request, order).first;
  if (enqueue(packet, is_use)) return order;
  orders_.erase(kept);
  return nullptr;
}

bool RunningWorker::answers(std::uint32_t dataset) const {
  return std::ranges::count(std::views::values(overdue_), dataset) < kMostOverdue;
}

void RunningWorker::take_reply(LinkPacket packet) {
  auto order = orders_.extract(packet.request);
  if (!order) {
    overdue_.erase(packet.request);
    if (late_figures_ == packet.request) late_figures_ = 0;
    return;
  }
  order.mapped()->reply = std::move(packet);
  order.mapped()->answered.notify_one();
}

bool RunningWorker::send_waiting() {
  while (!waiting_.empty()) {
    int code = send(waiting_.front());
    if (code == EAGAIN) return true;
    if (code == EMSGSIZE && waiting_.front().is_reply) {
      waiting_.front().body.clear();
      waiting_.front().files.clear();
      waiting_.front().status = EMSGSIZE;
      continue;
    }
    if (code != 0) return false;
    waiting_.front().is_reply ? end_ask() : void(++sent_);
    waiting_.pop_front();
  }
  const int code = send_connections();
  return code == 0 || code == EAGAIN;
}

int RunningWorker::send_connections() {
  while (!connections_.empty()) {
    const ConnectionQueue::Front next = connections_.front();
    LinkPacket packet = packet_of(Connection{next.pid});
    packet.files.push_back(std::move(next.socket));
    if (int code = send(packet); code != 0) {
      next.socket = std::move(packet.files.front());
      return code;
    }
    ++sent_;
    connections_.pop();
    closer_.close(credentials_.uid, std::move(packet.files.front()));
  }
  return 0;
}

void RunningWorker::send_soon() {
  if (!send_waiting() || has_waiting()) ::eventfd_write(wake_, 1);
}

void RunningWorker::stop_threads() {
  lanes_.stop(WorkQueue::kForEver);
  general_.stop(WorkQueue::kForEver, WorkQueue::Queued::kDone);
  long_.stop();
}

void RunningWorker::drop_waiting() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
  for (; !connections_.empty(); connections_.pop()) {
    closer_.close(credentials_.uid, std::move(connections_.front().socket));
  }
}

void RunningWorker::end_orders() {
  std::lock_guard lock(mutex_);
  is_gone_ = true;
  for (auto& [number, order] : orders_) {
    order->is_over = true;
    order->answered.notify_one();
  }
  orders_.clear();
}

}  // namespace zazen
