// The bytes that a worker sends to zazend. If the first byte is 0, the rest is a stream. It
// comes through a real pipe, at once and in pieces. The second byte is the length of a piece.
// Otherwise the rest is the body of an ask of that type, or of the reply to an order of that
// type. A packet or message that is accepted has the same bytes when it is sent again.
#include "daemon/link/link.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

template <class Message>
void check_body(std::string_view body) {
  Message message;
  if (decode_link_body(body, &message)) demand(encode_link_body(message) == body);
}

void check_message(LinkType type, std::string_view body) {
  auto check_ask = [&]<class Ask>(Ask*) {
    if (kLinkType<Ask> == type) check_body<Ask>(body);
  };
  auto check_reply = [&]<class Order>(Order*) {
    if (kLinkType<Order> == type) check_body<LinkReply<Order>>(body);
  };
  [&]<class... Asks>(std::tuple<Asks...>*) {
    (check_ask(static_cast<Asks*>(nullptr)), ...);
  }(static_cast<LinkAsks*>(nullptr));
  [&]<class... Orders>(std::tuple<Orders...>*) {
    (check_reply(static_cast<Orders*>(nullptr)), ...);
  }(static_cast<LinkOrders*>(nullptr));
}

struct Outcome {
  std::string said;  // what was read, as it is sent again
  LinkReader::Got end;
  bool operator==(const Outcome&) const = default;
};

std::string bytes_of(const LinkPacket& packet) {
  static LinkEnds ends = std::move(*make_link());
  static LinkWriter writer(ends.worker_send.get());
  demand(writer.send(packet));
  std::string bytes(kLongestLinkBody + 64, '\0');
  const ssize_t size = ::read(ends.receive.get(), bytes.data(), bytes.size());
  demand(size > 0);
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

Outcome read_stream(std::string_view stream, std::size_t piece) {
  Result<LinkEnds> ends = make_link();
  demand(ends.ok());
  LinkReader reader;
  LinkPacket packet;
  Outcome outcome = {"", LinkReader::Got::kNothing};
  do {
    const std::string_view part = stream.substr(0, piece);
    stream.remove_prefix(part.size());
    demand(::write(ends->worker_send.get(), part.data(), part.size()) ==
           static_cast<ssize_t>(part.size()));
    if (stream.empty()) ends->worker_send.reset();
    while ((outcome.end = reader.next(ends->receive.get(), &packet)) ==
           LinkReader::Got::kPacket) {
      demand(packet.body.size() <= kLongestLinkBody && packet.files.empty());
      outcome.said += bytes_of(packet);
      check_message(packet.type, packet.body);
    }
  } while (outcome.end == LinkReader::Got::kNothing && !stream.empty());
  return outcome;
}

void check_stream(std::string_view stream, std::size_t piece) {
  const Outcome whole = read_stream(stream, stream.size());
  demand(stream.starts_with(whole.said));
  demand(whole.end == LinkReader::Got::kClosed || whole.end == LinkReader::Got::kMalformed);
  demand(read_stream(stream, piece + 1) == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const std::string_view input(bytes.as<char>(), size);
  if (size >= 2 && data[0] == 0) {
    check_stream(input.substr(2), data[1]);
  } else if (size >= 1) {
    check_message(LinkType{data[0]}, input.substr(1));
  }
  return 0;
}
