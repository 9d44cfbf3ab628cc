// The first half of a bundle has the sizes of the messages' halves, the second one their bytes.
#include "coord/ranks/message_bundle.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace zazen {

MessageBundle::MessageBundle(std::span<const MessagePair> messages) {
  if (messages.size() == 1) {
    message_ = messages.front();
    return;
  }
  std::size_t whole = 0;
  for (const MessagePair& message : messages)
    for (std::span<const std::byte> half : {message.first, message.second}) {
      sizes_.push_back(half.size());
      whole += half.size();
    }
  bytes_.resize(whole);
  std::byte* end = bytes_.data();
  for (const MessagePair& message : messages)
    for (std::span<const std::byte> half : {message.first, message.second})
      end = std::ranges::copy(half, end).out;
  message_ = {std::as_bytes(std::span(sizes_)), bytes_};
}

std::vector<MessagePair> unbundle(const MessagePair& message, std::size_t count) {
  if (count == 1) return {message};
  std::vector<MessagePair> messages(count);
  if (message.first.empty() && message.second.empty()) return messages;
  std::vector<std::uint64_t> sizes(2 * count);
  if (message.first.size() != sizes.size() * sizeof(std::uint64_t))
    throw std::runtime_error("another node's messages are malformed");
  std::memcpy(sizes.data(), message.first.data(), message.first.size());
  std::span<const std::byte> rest = message.second;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > rest.size())
      throw std::runtime_error("another node's messages are malformed");
    (i % 2 == 0 ? messages[i / 2].first : messages[i / 2].second) = rest.first(sizes[i]);
    rest = rest.subspan(sizes[i]);
  }
  if (!rest.empty()) throw std::runtime_error("another node's messages are malformed");
  return messages;
}

}  // namespace zazen
