#include "daemon/worker/push/carried_requests.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "bodhi/push/push_wire.h"

namespace zazen {
namespace {

constexpr int kConnectMs = 2'000;

bool is_public(const MessageRule& rule) {
  return rule.wish == Wish::kNone && rule.body == BodyForm::kNone;
}

}  // namespace

int CarriedRequests::begin(std::string_view packet) {
  if (int code = check(packet, all_users_); code != 0) return code;
  const int fd = connect_daemon(runtime_.c_str(), kConnectMs);
  return fd < 0 ? -fd : send(packet, UniqueFd(fd));
}

int CarriedRequests::begin(std::string_view packet, UniqueFd connection) {
  if (int code = check(packet, false); code != 0) return code;
  return send(packet, std::move(connection));
}

int CarriedRequests::check(std::string_view packet, bool only_public) {
  if (!message_is_valid(packet.data(), packet.size(), Descriptor::kNone)) return EINVAL;
  MessageHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  const MessageRule* rule = find_rule(header.type);
  if (rule == nullptr || !rule->is_carried) return EOPNOTSUPP;
  request_ = header.request;
  return only_public && !is_public(*rule) ? EPERM : 0;
}

int CarriedRequests::send(std::string_view packet, UniqueFd connection) {
  connection_ = std::move(connection);
  return -send_message(connection_.get(), packet.data(), packet.size(), -1, kConnectMs);
}

std::optional<CarriedRequests::Answer> CarriedRequests::take() {
  char buffer[kMaxMessage];
  const Arrival arrival = receive_once(connection_.get(), buffer, sizeof buffer);
  if (arrival.size == -EAGAIN) return {};
  Answer answer;
  answer.content = UniqueFd(arrival.passed_fd);
  answer.status = arrival.size < 0 ? -arrival.size : arrival.size == 0 ? ECONNRESET : 0;
  if (answer.status == 0) {
    read_answer({buffer, static_cast<std::size_t>(arrival.size)}, &answer);
  }
  connection_.reset();
  return answer;
}

void CarriedRequests::read_answer(std::string_view packet, Answer* answer) const {
  MessageHeader header = {};
  const bool is_valid = message_is_valid(packet.data(), packet.size());
  if (is_valid) std::memcpy(&header, packet.data(), sizeof header);
  if (header.type != MessageType::kReply || header.request != request_) {
    answer->status = EPROTO;
    return;
  }
  answer->status = header.status;
  answer->body = packet.substr(sizeof header);
  if (!answer->content.valid()) return;
  struct stat st = {};
  // Only a file in memory has seals. The file system of another file could block the session.
  if (::fcntl(answer->content.get(), F_GET_SEALS) < 0 ||
      ::fstat(answer->content.get(), &st) != 0) {
    answer->status = EPROTO;
  } else if (static_cast<std::uint64_t>(st.st_size) > kLongestContent) {
    answer->status = EFBIG;
  } else {
    answer->content_bytes = static_cast<std::uint64_t>(st.st_size);
  }
}

}  // namespace zazen
