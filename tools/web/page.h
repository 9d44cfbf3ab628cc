// The frame of a page: head, style, footer. Two forms of the same page: one file with
// everything in it, and one that `zazenctl serve` sends with its style and script beside it.
#pragma once
#include <string>
#include <string_view>

#include "tools/web/html.h"

namespace zazen {

// The files of this folder, which the build embeds.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

// `home` is where the served files are, relative to the page: "", "../".
std::string served_page(const std::string& title, const std::string& home, const Html& content);
// Has no script, and may load nothing.
std::string whole_page(const std::string& title, const Html& content);

// For the header Content-Security-Policy of served pages.
inline constexpr char kServedPolicy[] =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace zazen
