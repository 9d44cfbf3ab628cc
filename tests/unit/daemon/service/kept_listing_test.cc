// A worker has a listing kept, and zazend's file does not take it.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include <future>
#include <thread>

#include "bodhi/node/listing.h"
#include "daemon/worker/clients/client_service.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;
constexpr std::uint64_t kTicket = 5;

using KeptListingTest = Scratch;

UniqueFd memory_file(const std::string& content) {
  UniqueFd file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::pwrite(file.get(), content.data(), content.size(), 0),
            static_cast<ssize_t>(content.size()));
  return file;
}

// The worker's next ask, of any kind.
LinkPacket next_ask(int pipe, LinkReader& reader) {
  LinkPacket packet;
  while (reader.next(pipe, &packet) == LinkReader::Got::kNothing) {
    struct pollfd readable = {pipe, POLLIN, 0};
    ::poll(&readable, 1, -1);
  }
  return packet;
}

template <class Ask>
void answer(int socket, const LinkPacket& ask, int status, LinkReply<Ask> reply) {
  LinkPacket packet;
  packet.type = ask.type;
  packet.is_reply = true;
  packet.request = ask.request;
  packet.status = status;
  if (status == 0) packet.body = encode_link_body(reply);
  if constexpr (requires { reply.file; }) {
    if (reply.file.valid()) packet.files.push_back(std::move(reply.file));
  }
  EXPECT_EQ(send_to_worker(socket, packet), 0);
}

TEST_F(KeptListingTest, TheTicketIsGivenBackWhenTheListingCannotBeWritten) {
  write_file(origin("f1"), "frame");
  Listing listing = *list_directory(origin(), config_.datasets[0].name);
  listing.taken_at_ns += kHourNs;  // so that it is settled
  Packet packet;
  packet.bytes.resize(kMaxMessage);
  packet.bytes.resize(encode_frame_message(MessageType::kKeepListing, 1, 0, origin().c_str(),
                                           "", packet.bytes.data(), packet.bytes.size()));
  packet.passed = memory_file(encode_listing(listing));

  LinkEnds ends = std::move(*make_link());
  // Nothing of it is destroyed, as in a worker.
  auto* link = new CacheLink(std::move(ends.worker_receive), std::move(ends.worker_send));
  auto* config = new Config(config_);
  auto* service = new ClientService(*config, *link, 16, true);
  std::thread([link] { link->run([](const LinkPacket&) {}); }).detach();
  ASSERT_EQ(service->take(1, packet), ClientService::Taken::kYes);

  LinkReader reader;
  const LinkPacket begin = next_ask(ends.receive.get(), reader);
  ASSERT_EQ(begin.type, kLinkType<BeginListing>);
  BeginListing::Reply file{kTicket, memory_file("")};
  ASSERT_EQ(::fcntl(file.file.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  answer<BeginListing>(ends.send.get(), begin, 0, std::move(file));

  const LinkPacket end = next_ask(ends.receive.get(), reader);
  ASSERT_EQ(end.type, kLinkType<FinishListing>);
  FinishListing finish;
  ASSERT_TRUE(decode_link_body(end.body, &finish));
  EXPECT_EQ(finish.ticket, kTicket);
  answer<FinishListing>(ends.send.get(), end, EINVAL, {});

  std::vector<Answer> answers;
  while (answers.empty()) {
    struct pollfd readable = {service->reply_queue().event_fd(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    answers = service->reply_queue().take();
  }
  EXPECT_EQ(answers[0].status, EPERM) << "why it could not be written";
}

}  // namespace
}  // namespace zazen
