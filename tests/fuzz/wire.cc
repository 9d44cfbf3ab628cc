// A packet of a client: what is called well formed can be taken apart, and a request that was
// taken apart and put together again is the same.
#include "bodhi/wire.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

void take_apart(const char* packet, std::size_t size, const MessageHeader& header) {
  FrameNames names = frame_names(packet);
  demand(names.dataset + names.dataset_length == names.name);
  demand(names.name + names.name_length == packet + size);
  std::string dataset(names.dataset, names.dataset_length);
  std::string name(names.name, names.name_length);
  demand(dataset.find('\0') == dataset.npos && name.find('\0') == name.npos);

  char again[kMaxMessage];
  std::size_t length = encode_frame_message(header.type, header.request, header.flags,
                                            dataset.c_str(), name.c_str(), again, sizeof again);
  demand(length == size && message_is_valid(again, length));
  demand(std::memcmp(again + sizeof header, packet + sizeof header, size - sizeof header) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const char* packet = bytes.as<char>();
  if (!message_is_valid(packet, size)) return 0;
  MessageHeader header;
  std::memcpy(&header, packet, sizeof header);
  demand(size == sizeof header + header.length && size <= kMaxMessage);
  switch (header.type) {
    case MessageType::kFill:
    case MessageType::kPush:
    case MessageType::kPushContent:
    case MessageType::kInvalidate:
    case MessageType::kSample:
    case MessageType::kList:
    case MessageType::kKeepListing:
    case MessageType::kReadIn:
    case MessageType::kWritten:
    case MessageType::kHistory:
      take_apart(packet, size, header);
      break;
    case MessageType::kEvict: {
      EvictBody body;
      std::memcpy(&body, packet + sizeof header, sizeof body);
      demand(sizeof header + sizeof body + body.dataset_length == size);
      break;
    }
    case MessageType::kPeerNotice:
      demand(header.length <= kLongestNotice);
      break;
    case MessageType::kStatus:
    case MessageType::kReply:
      break;
  }
  return 0;
}
