// Requests of people on other machines (PushType::kRequest): one at a time, and its answer is
// sent before the next message is read. The content of an answer is never held whole.
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "bodhi/push/node_link.h"
#include "daemon/worker/push/push_session.h"

namespace zazen {

bool PushSession::carry_request(std::uint64_t request, const std::string& body) {
  PushRequest asked;
  if (!decode(body, &asked)) return break_off("a malformed request");
  PushHeader reply = {};
  reply.type = PushType::kReply;
  reply.request = request;
  std::optional<CarriedRequests::Answer> found;
  if (asked.credential.empty()) {
    reply.status = carried_.begin(asked.packet);
  } else {
    Result<UniqueFd> user = terms_.desk.connect_as(asked.credential, keys_->binding());
    reply.status = user ? carried_.begin(asked.packet, std::move(*user)) : user.error().code;
  }
  if (reply.status == 0) {
    if (!await_carried(&found)) return false;
    if (!found) found.emplace().status = ETIMEDOUT;
    reply.status = found->status;
    if (reply.status == 0 && !say_content(request, *found)) return false;
  }
  const std::string text = found && reply.status == 0 ? std::move(found->body) : std::string();
  reply.length = static_cast<std::uint32_t>(text.size());
  say(reply, text);
  deadline_ = Clock::now() + terms_.limits.message;
  return send_all();
}

// False: the session is over. Pushes that are under way are answered meanwhile.
bool PushSession::await_carried(std::optional<CarriedRequests::Answer>* found) {
  const Clock::time_point until = Clock::now() + NodeLink::kLongestWork;
  while (Clock::now() < until) {
    if (*found = carried_.take(); *found) return true;
    struct pollfd entries[] = {{socket_.get(), POLLRDHUP, 0},
                               {carried_.fd(), POLLIN, 0},
                               {box_->event.get(), POLLIN, 0}};
    ::poll(entries, std::size(entries), 1'000);
    if ((entries[2].revents & POLLIN) != 0) collect_answers();
    const bool is_gone = (entries[0].revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0;
    if (is_gone || stopping_ || !send_output()) {
      carried_.forget();
      return false;
    }
  }
  carried_.forget();
  return true;
}

bool PushSession::say_content(std::uint64_t request, const CarriedRequests::Answer& found) {
  PushHeader header = {};
  header.type = PushType::kReplyPart;
  header.request = request;
  std::string part(std::min<std::uint64_t>(found.content_bytes, kLongestNativesPart), '\0');
  for (std::uint64_t at = 0; at < found.content_bytes;) {
    const auto most = std::min<std::uint64_t>(part.size(), found.content_bytes - at);
    const ssize_t size = ::pread(found.content.get(), part.data(),
                                 static_cast<std::size_t>(most), static_cast<off_t>(at));
    if (size <= 0) return false;
    header.length = static_cast<std::uint32_t>(size);
    say(header, std::string_view(part).substr(0, header.length));
    deadline_ = Clock::now() + terms_.limits.message;
    if (!send_all()) return false;
    at += static_cast<std::uint64_t>(size);
  }
  return true;
}

}  // namespace zazen
