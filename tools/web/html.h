// Html: a page as it is written. Names of elements and attributes are literals of the program;
// every text and every value is escaped. So a path, a command or a daemon's sentence can never
// become markup.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace zazen {

struct HtmlAttribute {
  const char* name;
  std::string value;
};
using HtmlAttributes = std::initializer_list<HtmlAttribute>;

class Html {
 public:
  using Content = std::function<void()>;

  // <name attributes>what `content` writes</name>
  void element(const char* name, HtmlAttributes attributes, const Content& content);
  void element(const char* name, HtmlAttributes attributes, std::string_view text);
  void empty_element(const char* name, HtmlAttributes attributes);
  void text(std::string_view words);

  // <data value="41208">41,208</data>: figures that a program may read, too.
  void figure(std::uint64_t exact, std::string_view words);
  void count(std::uint64_t number);  // "41,208"
  void bytes(std::uint64_t number);  // "1.62 TB"

  // A table cell; the label names it where the rows are shown as cards.
  void cell(const char* key, const char* label, std::string_view words);
  void cell(const char* key, const char* label, const Content& content);

  const std::string& written() const { return written_; }

 private:
  void open(const char* name, HtmlAttributes attributes, const char* end);

  std::string written_;
};

// & < > " ' and control characters.
std::string escape_html(std::string_view text);

}  // namespace zazen
