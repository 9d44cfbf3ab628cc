#include "tools/web/html.h"

#include <algorithm>

#include "bodhi/common/units.h"
#include "tools/support/output.h"

namespace zazen {
namespace {

constexpr std::string_view kAmongWords[] = {"a", "code", "data", "span"};

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c == '\\' ? std::string(1, c) : printable(std::string(1, c));
    }
  }
  return escaped;
}

void Html::open(const char* name, HtmlAttributes attributes, const char* end) {
  // White space between words would be seen.
  const bool is_among_words = std::ranges::count(kAmongWords, std::string_view(name)) > 0;
  written_ += is_among_words ? "<" : "\n<";
  written_ += name;
  for (const HtmlAttribute& attribute : attributes) {
    written_ += ' ';
    written_ += attribute.name;
    written_ += "=\"" + escape_html(attribute.value) + '"';
  }
  written_ += end;
}

void Html::element(const char* name, HtmlAttributes attributes, const Content& content) {
  open(name, attributes, ">");
  content();
  written_ += "</";
  written_ += name;
  written_ += ">";
}

void Html::element(const char* name, HtmlAttributes attributes, std::string_view words) {
  element(name, attributes, [&] { text(words); });
}

void Html::empty_element(const char* name, HtmlAttributes attributes) {
  open(name, attributes, "/>");
}

void Html::text(std::string_view words) {
  written_ += escape_html(words);
}

void Html::figure(std::uint64_t exact, std::string_view words) {
  element("data", {{"value", std::to_string(exact)}}, words);
}

void Html::count(std::uint64_t number) {
  figure(number, format_count(number));
}

void Html::bytes(std::uint64_t number) {
  figure(number, format_size(number));
}

void Html::cell(const char* key, const char* label, std::string_view words) {
  cell(key, label, [&] { text(words); });
}

void Html::cell(const char* key, const char* label, const Content& content) {
  element("td", {{"class", key}, {"data-label", label}}, content);
}

}  // namespace zazen
