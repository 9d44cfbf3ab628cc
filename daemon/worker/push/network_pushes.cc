#include "daemon/worker/push/network_pushes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/process/shortage.h"

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

NetworkPushes::Beginning::Beginning(NetworkPushes& pushes, std::uint32_t dataset,
                                    std::uint64_t bytes)
    : desk(pushes), ask{dataset, bytes, 0} {
  done.reserve(BeginPushes::kMost);
}

void NetworkPushes::Beginning::settle(int code, BeginPushes::Reply reply) {
  const std::size_t given = std::min(reply.tickets.size(), reply.files.size());
  // The kernel drops descriptors for which this process has no room.
  for (std::size_t i = given; i < reply.tickets.size(); ++i) desk.abandon(reply.tickets[i], 0);
  const int refusal = code != 0 ? code : reply.status != 0 ? reply.status : EMFILE;
  for (std::size_t i = 0; i < done.size(); ++i) {
    i < given ? done[i](0, reply.tickets[i], std::move(reply.files[i]))
              : done[i](refusal, 0, {});
  }
  done.clear();
}

void NetworkPushes::begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(beginnings_, [&](const BeginningPointer& one) {
    return one->ask.dataset == dataset && one->ask.bytes == bytes &&
           one->ask.count < BeginPushes::kMost;
  });
  if (found == beginnings_.end()) {
    found = beginnings_.insert(found, std::make_shared<Beginning>(*this, dataset, bytes));
  }
  (*found)->done.push_back(std::move(done));
  ++(*found)->ask.count;
}

NetworkPushes::Finishing::Finishing(NetworkPushes& pushes, std::uint32_t dataset)
    : desk(pushes) {
  ask.dataset = dataset;
  ask.pushed.reserve(kMostHeld);
  done.reserve(kMostHeld);
}

// A message that zazend refuses as a whole leaves its tickets.
void NetworkPushes::Finishing::settle(int code, const std::vector<std::int32_t>& statuses) {
  if (std::exchange(is_under_way, false)) desk.end_message(ask.dataset);
  if (code == 0 && statuses.size() != done.size()) code = EBADMSG;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (code != 0) desk.abandon(ask.pushed[i].ticket, code);
    done[i](code != 0 ? code : statuses[i]);
  }
  done.clear();
}

void NetworkPushes::finish(std::uint32_t dataset, const PushedFile& file, Finished done) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[dataset];
  if (!lane.next) lane.next = std::make_shared<Finishing>(*this, dataset);
  lane.next->ask.pushed.push_back(file);
  lane.next->done.push_back(std::move(done));
  if (lane.next->done.size() < kMostHeld) return;
  FinishingPointer full = take_next(lane);
  lock.unlock();
  send(std::move(full));
}

void NetworkPushes::flush() {
  std::vector<BeginningPointer> beginnings;
  std::vector<FinishingPointer> finishings;
  {
    std::lock_guard lock(mutex_);
    finishings.reserve(lanes_.size());
    beginnings.swap(beginnings_);
    for (auto& [dataset, lane] : lanes_) {
      const bool waits = lane.under_way > 0 && Clock::now() - lane.sent_at < kPatience;
      if (FinishingPointer next = waits ? nullptr : take_next(lane)) {
        finishings.push_back(std::move(next));
      }
    }
  }
  for (BeginningPointer& one : beginnings) send(std::move(one));
  for (FinishingPointer& one : finishings) send(std::move(one));
}

NetworkPushes::FinishingPointer NetworkPushes::take_next(Lane& lane) {
  if (!lane.next || lane.next->done.empty()) return nullptr;
  ++lane.under_way;
  lane.sent_at = Clock::now();
  lane.next->is_under_way = true;
  return std::exchange(lane.next, nullptr);
}

void NetworkPushes::end_message(std::uint32_t dataset) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[dataset];
  if (--lane.under_way > 0) return;
  FinishingPointer next = take_next(lane);
  lock.unlock();
  if (next) send(std::move(next));
}

// If memory is refused here, nobody but the message's own sessions may fail.
void NetworkPushes::send(BeginningPointer message) {
  despite_shortage([&] {
    link_.ask_later(message->ask, [message](LinkPacket packet) {
      BeginPushes::Reply reply;
      const int code = CacheLink::read(packet, &reply);
      message->settle(code, std::move(reply));
    });
  });
}

void NetworkPushes::send(FinishingPointer message) {
  despite_shortage([&] {
    link_.ask_later(message->ask, [message](LinkPacket packet) {
      FinishPushes::Reply reply;
      const int code = CacheLink::read(packet, &reply);
      message->settle(code, reply.statuses);
    });
  });
}

// A ticket that is not given back counts until this process ends.
void NetworkPushes::abandon(std::uint64_t ticket, int status) {
  until_no_shortage([&] { link_.tell(AbandonFill{ticket, status}); });
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

Result<UniqueFd> NetworkPushes::connect_as(const std::string& credential,
                                           const Bytes32& binding) {
  ConnectAs::Reply reply;
  const int code = link_.ask(ConnectAs{credential, std::string(as_text(binding))}, &reply);
  if (code != 0) return Error{code, "", {}};
  if (!reply.file.valid()) return Error{EMFILE, "", {}};
  return std::move(reply.file);
}

}  // namespace zazen
