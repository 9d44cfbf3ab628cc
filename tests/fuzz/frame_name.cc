// A template (and behind a tab patterns of companions), a number and a name, divided by
// newlines. A valid template maps numbers to names one to one: formatting and matching are each
// other's inverse, and no other name matches.
#include "bodhi/lean/frames/frame_name.h"

#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

std::string_view take_line(std::string_view* rest) {
  std::string_view line = rest->substr(0, rest->find('\n'));
  rest->remove_prefix(std::min(line.size() + 1, rest->size()));
  return line;
}

void check_number(const FrameName& name, FrameSeq seq) {
  char text[kMaxTemplate + 32];
  FrameSeq again = ~seq;
  std::size_t length = name.format(seq, text, sizeof text), parent = 0;
  if (name.is_companion(seq) && length == 0) return;  // it spells no name
  demand(length <= name.most_length());
  demand(length != 0 && std::strlen(text) == length);
  demand(name.match(text, length, &again) && again == seq);
  char shorter[kMaxTemplate + 32];
  demand(name.format(seq, shorter, length) == 0);
  demand(name.match_tail(text, length, &parent, &again) && again == seq);
  demand(parent == (name.directory_length() ? name.directory_length() + 1 : 0));
  const char* slash = static_cast<const char*>(::memrchr(text, '/', length));
  const char* last = slash ? slash + 1 : text;
  demand(name.match_last_component(last, static_cast<std::size_t>(text + length - last)));
  demand(std::string_view(text, length).find("/../") == std::string_view::npos);
  if (name.is_companion(seq)) {
    demand(!name.match_entry(last, static_cast<std::size_t>(text + length - last), &again));
    return;
  }
  demand(name.last_byte() == '\0' || name.last_byte() == text[length - 1]);

  length = name.format_entry(seq, text, sizeof text);
  demand(length != 0 && std::memchr(text, '/', length) == nullptr);
  demand(name.match_entry(text, length, &again) && again == seq);
}

void check_name(const FrameName& name, std::string_view text) {
  MappedBytes bytes(text.data(), text.size());
  FrameSeq seq = 0;
  std::size_t parent = 0;
  char again[kMaxTemplate + 32];
  if (name.match(bytes.as<char>(), text.size(), &seq)) {
    demand(std::string_view(again, name.format(seq, again, sizeof again)) == text);
  }
  if (name.match_entry(bytes.as<char>(), text.size(), &seq)) {
    demand(std::string_view(again, name.format_entry(seq, again, sizeof again)) == text);
  }
  name.match_last_component(bytes.as<char>(), text.size());
  if (name.match_tail(bytes.as<char>(), text.size(), &parent, &seq))
    demand(parent < text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = as_text(data, size);
  std::string_view text = take_line(&rest), number = take_line(&rest), also;
  if (const std::size_t tab = text.find('\t'); tab != text.npos) {
    also = text.substr(tab + 1);
    text = text.substr(0, tab);
  }
  MappedBytes bytes(text.data(), text.size());
  FrameName name;
  const char* why = nullptr;
  if (!FrameName::parse(bytes.as<char>(), text.size(), &name, &why)) {
    demand(why != nullptr);
    return 0;
  }
  MappedBytes patterns(also.data(), also.size());
  if (!name.add_also(patterns.as<char>(), also.size(), &why)) {
    demand(why != nullptr);
    return 0;
  }
  FrameSeq seq = 0;
  std::memcpy(&seq, number.data(), std::min(number.size(), sizeof seq));
  for (FrameSeq one : {seq, FrameSeq{0}, ~FrameSeq{0}, seq | kFirstCompanion})
    check_number(name, one);
  check_name(name, rest);
  return 0;
}
