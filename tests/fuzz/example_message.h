// A well-formed message of any row of kMessages, made from what the row says of its body.
#pragma once
#include <string>

#include "bodhi/lean/requests/wire.h"

namespace zazen {

inline std::string example_message(const MessageRule& rule,
                                   const std::string& dataset = "/sim1",
                                   const std::string& name = "f7") {
  auto as_bytes = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto length = static_cast<std::uint32_t>(dataset.size());
  const auto short_length = static_cast<std::uint16_t>(length);
  std::string body;
  switch (rule.body) {
    case BodyForm::kNone:
      break;
    case BodyForm::kFrame:
      body = as_bytes(FrameBody{short_length, static_cast<std::uint16_t>(name.size())}) +
             dataset + name;
      break;
    case BodyForm::kDataset:
    case BodyForm::kDatasetOrAll:
      body = as_bytes(FrameBody{short_length, 0}) + dataset;
      break;
    case BodyForm::kRange:
      body = as_bytes(EvictBody{1, 99, 0, length}) + dataset;
      break;
    case BodyForm::kSelection:
      body = as_bytes(EvictBody{1, 99, kEvictAliens, length}) + dataset;
      break;
    case BodyForm::kVerify:
      body = as_bytes(VerifyBody{1, 99, length, 0}) + dataset;
      break;
    case BodyForm::kNewDataset:
      body = as_bytes(FrameBody{short_length, 6}) + dataset + "f{seq}";
      break;
    case BodyForm::kNotice:
    case BodyForm::kAny:
      body = "of any form";
      break;
  }
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = rule.type;
  header.length = static_cast<std::uint32_t>(body.size());
  header.flags = rule.flags;
  header.request = 7;
  return as_bytes(header) + body;
}

}  // namespace zazen
