#include "bodhi/lean/requests/messages.h"

#include <cstring>

#include "bodhi/lean/requests/wire.h"

namespace zazen {
namespace {

template <class T>
bool read_fixed(const char* body, std::size_t length, T* out) {
  if (length < sizeof *out) return false;
  std::memcpy(out, body, sizeof *out);
  return true;
}

// False if the texts do not fill the body exactly.
bool find_names(BodyForm form, const char* body, std::size_t length, MessageNames* out) {
  std::size_t fixed = 0;
  *out = {};
  switch (form) {
    case BodyForm::kFrame:
    case BodyForm::kDataset:
    case BodyForm::kDatasetOrAll:
    case BodyForm::kNewDataset: {
      FrameBody sizes;
      if (!read_fixed(body, length, &sizes)) return false;
      fixed = sizeof sizes;
      out->dataset_length = sizes.dataset_length;
      out->name_length = sizes.name_length;
      break;
    }
    case BodyForm::kRange:
    case BodyForm::kSelection: {
      EvictBody range;
      if (!read_fixed(body, length, &range)) return false;
      if (form == BodyForm::kRange && range.what != 0) return false;
      if ((range.what & ~std::uint32_t{kEvictNatives | kEvictAliens | kEvictDryRun}) != 0) {
        return false;
      }
      fixed = sizeof range;
      out->dataset_length = range.dataset_length;
      break;
    }
    case BodyForm::kVerify: {
      VerifyBody range;
      if (!read_fixed(body, length, &range)) return false;
      fixed = sizeof range;
      out->dataset_length = range.dataset_length;
      break;
    }
    case BodyForm::kNone:
      return length == 0;
    case BodyForm::kNotice:
      return length > 0 && length <= kLongestNotice;
    case BodyForm::kAny:
      return true;
  }
  out->dataset = body + fixed;
  out->name = out->dataset + out->dataset_length;
  return length == fixed + out->dataset_length + out->name_length;
}

bool has_nul(const char* text, std::size_t length) {
  return length > 0 && std::memchr(text, '\0', length) != nullptr;
}

bool names_are_valid(BodyForm form, const MessageNames& names) {
  const bool is_new = form == BodyForm::kNewDataset;
  if (!is_new && !names_dataset(form)) return true;
  if (is_new ? names.name_length >= kMaxTemplate
             : (form == BodyForm::kFrame) != (names.name_length > 0)) {
    return false;
  }
  if (has_nul(names.name, names.name_length)) return false;
  if (names.dataset_length == 0) return form == BodyForm::kDatasetOrAll;
  return names.dataset_length < kMaxPath && names.dataset[0] == '/' &&
         !has_nul(names.dataset, names.dataset_length);
}

}  // namespace

bool message_is_valid(const char* packet, std::size_t size, Descriptor came,
                      std::span<const MessageRule> rules) {
  MessageHeader header;
  if (size > kMaxMessage || !read_fixed(packet, size, &header)) return false;
  if (header.magic != kWireMagic || header.version != kWireVersion) return false;
  if (header.length != size - sizeof header) return false;
  const MessageRule* rule = find_rule(header.type, rules);
  if (rule == nullptr || (header.flags & ~rule->flags) != 0) return false;
  bool is_known = came != Descriptor::kEither && rule->descriptor != Descriptor::kEither;
  if (is_known && came != rule->descriptor) return false;
  MessageNames names;
  return find_names(rule->body, packet + sizeof header, header.length, &names) &&
         names_are_valid(rule->body, names);
}

MessageNames message_names(const char* packet, std::span<const MessageRule> rules) {
  MessageHeader header;
  std::memcpy(&header, packet, sizeof header);
  MessageNames names;
  find_names(find_rule(header.type, rules)->body, packet + sizeof header, header.length,
             &names);
  return names;
}

}  // namespace zazen
