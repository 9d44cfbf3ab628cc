#include "tools/web/page.h"

#include <fmt/format.h>

namespace zazen {
namespace {

std::string page(const std::string& title, const std::string& head, const Html& content,
                 const std::string& before = {}) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
{}<title>{}</title>
</head>
<body>
{}{}</body>
</html>
)",
                     head, escape_html(title), before, content.written());
}

}  // namespace

std::string served_page(const std::string& title, const std::string& home,
                        const Html& content) {
  const std::string head = fmt::format(
      "<link rel=\"stylesheet\" href=\"{0}page.css\">\n"
      "<script src=\"{0}page.js\" defer></script>\n",
      escape_html(home));
  Html lost;
  lost.element("p", {{"id", "lost-connection"}, {"role", "alert"}, {"hidden", ""}},
               "zazenctl serve does not answer: the page shows what it said last.");
  return page(title, head, content, lost.written());
}

std::string whole_page(const std::string& title, const Html& content) {
  // The policy is a second line of defence behind the escaping.
  return page(title,
              fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action "
                          "'none'\">\n<style>\n{}</style>\n",
                          kPageStyle),
              content);
}

}  // namespace zazen
