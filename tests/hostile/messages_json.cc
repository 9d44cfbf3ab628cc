// messages_json: prints the table of messages (bodhi/lean/requests/messages.h) for the tests
// that are written in Python and send what they like (tests/harness/messages.py).
#include <array>
#include <cstdio>

#include "bodhi/lean/requests/wire.h"

namespace {

using namespace zazen;

// In the order of the enums; at() ends the program if one has more.
constexpr std::array kBodies = {"none",      "frame",  "dataset", "dataset_or_all", "range",
                                "selection", "verify", "notice",  "new_dataset",    "any"};
constexpr std::array kDescriptors = {"none", "one", "either"};
constexpr std::array kAnswers = {"always", "if_asked", "never"};
constexpr std::array kSenders = {"anybody", "own_user", "daemon"};
constexpr std::array kWishes = {"none", "search", "list", "write", "vouch", "manage"};

template <class Enum>
std::size_t number(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

int main() {
  std::printf("{\"magic\": %u, \"version\": %u, \"largest\": %zu,\n \"messages\": [",
              kWireMagic, kWireVersion, kMaxMessage);
  const char* separator = "\n";
  for (const MessageRule& rule : kMessages) {
    std::printf(
        "%s  {\"name\": \"%s\", \"type\": %zu, \"body\": \"%s\", \"descriptor\": \"%s\", "
        "\"flags\": %u, \"answered\": \"%s\", \"sender\": \"%s\", \"wish\": \"%s\", "
        "\"removed_too\": %s, \"carried\": %s}",
        separator, rule.name, number(rule.type), kBodies.at(number(rule.body)),
        kDescriptors.at(number(rule.descriptor)), rule.flags,
        kAnswers.at(number(rule.answered)), kSenders.at(number(rule.from)),
        kWishes.at(number(rule.wish)), rule.removed_too ? "true" : "false",
        rule.is_carried ? "true" : "false");
    separator = ",\n";
  }
  std::puts("\n]}");
}
