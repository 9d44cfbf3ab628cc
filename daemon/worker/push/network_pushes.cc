#include "daemon/worker/push/network_pushes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace zazen {

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

// zazend reserves the room of a file like this.
void NetworkPushes::begin(std::uint32_t dataset, std::uint64_t bytes, Begun done) {
  BeginFill offer;
  offer.dataset = dataset;
  offer.kind = FrameKind::kNative;
  offer.is_content = true;
  struct stat& content = offer.origin.st;
  content.st_mode = S_IFREG;
  content.st_ino = 1;
  content.st_size = static_cast<off_t>(bytes);
  content.st_blocks = static_cast<blkcnt_t>((bytes + 511) / 512);
  link_.ask_later(
      std::move(offer),
      [done = std::move(done)](LinkPacket packet) {
        BeginFill::Reply reply;
        const int status = CacheLink::read(packet, &reply);
        done(status, std::move(reply));
      },
      true);
}

void NetworkPushes::finish(const FinishPush& finish, std::function<void(int status)> done) {
  link_.ask_later(
      finish, [done = std::move(done)](LinkPacket reply) { done(reply.status); }, true);
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
