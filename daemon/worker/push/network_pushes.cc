#include "daemon/worker/push/network_pushes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace zazen {
namespace {

constexpr std::size_t kMostHeld = 16;  // complete files of a dataset, with one ticket each
constexpr std::chrono::milliseconds kPatience(20);

}  // namespace

void NetworkPushes::learn_keys() {
  PushKeyAsk::Reply reply;
  if (link_.ask(PushKeyAsk{}, &reply) != 0) return;  // those of before stay in force
  keys_.renew(Credentials{reply.key, reply.has_munge, reply.old_keys});
}

void NetworkPushes::add_figures(WorkerFigures* figures) const {
  figures->connections = counts_.connections;
  figures->refused = counts_.refused;
  figures->push_bytes = counts_.bytes;
}

void NetworkPushes::begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(beginnings_, [&](const Beginning& one) {
    return one.ask.dataset == dataset && one.ask.bytes == bytes &&
           one.ask.count < BeginPushes::kMost;
  });
  if (found == beginnings_.end()) {
    found = beginnings_.insert(found, Beginning{{dataset, bytes, 0}, {}});
  }
  found->done.push_back(std::move(done));
  ++found->ask.count;
}

void NetworkPushes::finish(std::uint32_t dataset, const PushedFile& file, Finished done) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[dataset];
  lane.next.ask.pushed.push_back(file);
  lane.next.done.push_back(std::move(done));
  if (lane.next.done.size() < kMostHeld) return;
  Finishing full = take_next(dataset, lane);
  lock.unlock();
  send(std::move(full));
}

void NetworkPushes::flush() {
  std::unique_lock lock(mutex_);
  std::vector<Beginning> beginnings = std::exchange(beginnings_, {});
  std::vector<Finishing> finishings;
  for (auto& [dataset, lane] : lanes_) {
    const bool waits = lane.under_way > 0 && Clock::now() - lane.sent_at < kPatience;
    if (!lane.next.done.empty() && !waits) finishings.push_back(take_next(dataset, lane));
  }
  lock.unlock();
  for (Beginning& one : beginnings) send(std::move(one));
  for (Finishing& one : finishings) send(std::move(one));
}

NetworkPushes::Finishing NetworkPushes::take_next(std::uint32_t dataset, Lane& lane) {
  ++lane.under_way;
  lane.sent_at = Clock::now();
  lane.next.ask.dataset = dataset;
  return std::exchange(lane.next, {});
}

void NetworkPushes::end_message(std::uint32_t dataset) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[dataset];
  if (--lane.under_way > 0 || lane.next.done.empty()) return;
  Finishing next = take_next(dataset, lane);
  lock.unlock();
  send(std::move(next));
}

void NetworkPushes::send(Beginning beginning) {
  link_.ask_later(beginning.ask, [this, done = std::move(beginning.done)](LinkPacket packet) {
    BeginPushes::Reply reply;
    const int code = CacheLink::read(packet, &reply);
    const std::size_t given = std::min(reply.tickets.size(), reply.files.size());
    // The kernel drops descriptors for which this process has no room.
    for (std::size_t i = given; i < reply.tickets.size(); ++i) abandon(reply.tickets[i], 0);
    const int refusal = code != 0 ? code : reply.status != 0 ? reply.status : EMFILE;
    for (std::size_t i = 0; i < done.size(); ++i) {
      i < given ? done[i](0, reply.tickets[i], std::move(reply.files[i]))
                : done[i](refusal, 0, {});
    }
  });
}

void NetworkPushes::send(Finishing finishing) {
  const std::uint32_t dataset = finishing.ask.dataset;
  link_.ask_later(std::move(finishing.ask),
                  [this, dataset, done = std::move(finishing.done)](LinkPacket packet) {
                    end_message(dataset);
                    FinishPushes::Reply reply;
                    int code = CacheLink::read(packet, &reply);
                    if (code == 0 && reply.statuses.size() != done.size()) code = EBADMSG;
                    for (std::size_t i = 0; i < done.size(); ++i)
                      done[i](code != 0 ? code : reply.statuses[i]);
                  });
}

void NetworkPushes::abandon(std::uint64_t ticket, int status) {
  link_.tell(AbandonFill{ticket, status});
}

Result<std::string> NetworkPushes::natives(std::uint32_t dataset) {
  ContentReply reply;
  if (int code = link_.ask(Natives{dataset}, &reply); code != 0) return Error{code, "", {}};
  struct stat st = {};
  if (::fstat(reply.file.get(), &st) != 0) return last_error("natives");
  std::string encoded(static_cast<std::size_t>(st.st_size), '\0');
  if (::pread(reply.file.get(), encoded.data(), encoded.size(), 0) !=
      static_cast<ssize_t>(encoded.size())) {
    return last_error("natives");
  }
  return encoded;
}

int NetworkPushes::take_notice(std::string_view notice) {
  return link_.ask(Notice{std::string(notice)});
}

bool NetworkPushes::is_disk_usable() {
  DiskState::Reply reply;
  return link_.ask(DiskState{}, &reply) == 0 && reply.is_usable;
}

Result<MungeSecret> NetworkPushes::decode_munge(const std::string& credential) {
  MungeReply reply;
  MungeSecret decoded = {};
  const int code = link_.ask(DecodeMunge{credential}, &reply);
  if (code != 0 || reply.secret.size() != decoded.secret.size()) {
    return Error{code != 0 ? code : EBADMSG, "MUNGE does not know the credential", {}};
  }
  decoded.uid = reply.uid;
  std::memcpy(decoded.secret.data(), reply.secret.data(), reply.secret.size());
  return decoded;
}

}  // namespace zazen
