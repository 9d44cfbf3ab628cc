// A packet of a client. A well-formed one can be decoded. A request that is decoded and encoded
// again is the same. Which messages there are, and what each may be, the fuzzer takes from
// kMessages.
#include "bodhi/lean/requests/wire.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr unsigned kLeftAsTheyAre = 4;  // of so many mutations one

bool has_frame_body(BodyForm form) {
  return form == BodyForm::kFrame || form == BodyForm::kDataset ||
         form == BodyForm::kDatasetOrAll;
}

void take_apart(const char* packet, std::size_t size, const MessageRule& rule) {
  MessageHeader header;
  std::memcpy(&header, packet, sizeof header);
  MessageNames names = message_names(packet);
  std::string dataset(names.dataset, names.dataset_length);
  std::string name(names.name, names.name_length);
  demand(dataset.find('\0') == dataset.npos && name.find('\0') == name.npos);
  demand(names.dataset + names.dataset_length == names.name);
  demand(names.name + names.name_length == packet + size);
  demand(name.empty() == (rule.body != BodyForm::kFrame));
  demand(!dataset.empty() || rule.body == BodyForm::kDatasetOrAll);
  if (!has_frame_body(rule.body)) return;

  char again[kMaxMessage];
  std::size_t length = encode_frame_message(header.type, header.request, header.flags,
                                            dataset.c_str(), name.c_str(), again, sizeof again);
  demand(length == size && message_is_valid(again, length));
  demand(std::memcmp(again + sizeof header, packet + sizeof header, size - sizeof header) == 0);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Most packets get a header that agrees with itself, and a type that there is.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  MessageHeader header;
  if (size < sizeof header || seed % kLeftAsTheyAre == 0) return size;
  std::memcpy(&header, data, sizeof header);
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = kMessages[seed / kLeftAsTheyAre % std::size(kMessages)].type;
  header.length = static_cast<std::uint32_t>(size - sizeof header);
  std::memcpy(data, &header, sizeof header);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MappedBytes bytes(data, size);
  const char* packet = bytes.as<char>();
  bool with_one = message_is_valid(packet, size, Descriptor::kOne);
  bool with_none = message_is_valid(packet, size, Descriptor::kNone);
  demand(message_is_valid(packet, size) == (with_one || with_none));
  if (!with_one && !with_none) return 0;
  MessageHeader header;
  std::memcpy(&header, packet, sizeof header);
  demand(size == sizeof header + header.length && size <= kMaxMessage);
  const MessageRule* rule = find_rule(header.type);
  demand(rule != nullptr && (header.flags & ~rule->flags) == 0);
  demand(with_one == (rule->descriptor != Descriptor::kNone));
  demand(with_none == (rule->descriptor != Descriptor::kOne));
  if (names_dataset(rule->body)) take_apart(packet, size, *rule);
  if (rule->body == BodyForm::kNone) demand(header.length == 0);
  if (rule->body == BodyForm::kNotice) {
    demand(header.length > 0 && header.length <= kLongestNotice);
  }
  return 0;
}
