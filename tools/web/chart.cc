#include "tools/web/chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace zazen {
namespace {

std::string percent(double share) {
  return fmt::format("{:.2f}%", share * 100);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void bar(Html& html, const char* kind, double from, double length) {
  if (length <= 0) return;
  html.empty_element(
      "rect",
      {{"class", kind}, {"x", percent(from)}, {"width", percent(length)}, {"height", "100%"}});
}

void draw(Html& html, const char* kind, const std::string& title,
          const Html::Content& content) {
  html.element("svg", {{"class", kind}, {"role", "img"}, {"aria-label", title}}, [&] {
    html.element("title", {}, title);
    content();
  });
}

// As draw(), with a scale of its own that is stretched to the place.
void draw_stretched(Html& html, const char* kind, const std::string& title, double width,
                    double height, const Html::Content& content) {
  html.element("svg",
               {{"class", kind},
                {"role", "img"},
                {"aria-label", title},
                {"viewBox", fmt::format("0 0 {} {}", width, height)},
                {"preserveAspectRatio", "none"}},
               [&] {
                 html.element("title", {}, title);
                 content();
               });
}

}  // namespace

void define_patterns(Html& html) {
  html.element(
      "svg", {{"class", "patterns"}, {"aria-hidden", "true"}, {"width", "0"}, {"height", "0"}},
      [&] {
        html.element("defs", {}, [&] {
          html.element(
              "pattern",
              {{"id", "hatch"},
               {"width", "6"},
               {"height", "6"},
               {"patternUnits", "userSpaceOnUse"},
               {"patternTransform", "rotate(45)"}},
              [&] {
                html.empty_element(
                    "rect", {{"class", "hatch-ground"}, {"width", "6"}, {"height", "6"}});
                html.empty_element("rect",
                                   {{"class", "hatch-line"}, {"width", "3"}, {"height", "6"}});
              });
        });
      });
}

void draw_share(Html& html, std::uint64_t cached, std::uint64_t origin, std::uint64_t whole,
                const std::string& title) {
  draw(html, "bar", title, [&] {
    bar(html, "cached", 0, share_of(cached, whole));
    bar(html, "origin", share_of(cached, whole), share_of(origin, whole));
  });
}

void draw_level(Html& html, double part, const std::string& title) {
  draw(html, "bar", title, [&] { bar(html, "level", 0, std::clamp(part, 0.0, 1.0)); });
}

FrameStrip::FrameStrip(const FrameSet& all) {
  if (all.empty()) return;
  first_ = all.frames().front();
  last_ = all.frames().back();
  bins_ = std::min<std::uint64_t>(kMostBins - 1, last_ - first_) + 1;
  all_ = sorted(all);
}

FrameStrip::Bins FrameStrip::sorted(const FrameSet& frames) const {
  Bins bins = {};
  const double step = (static_cast<double>(last_ - first_) + 1) / static_cast<double>(bins_);
  for (const FrameSeq seq : frames.frames()) {
    if (seq < first_ || seq > last_) continue;
    const auto bin = static_cast<std::size_t>(static_cast<double>(seq - first_) / step);
    ++bins[std::min(bin, bins_ - 1)];
  }
  return bins;
}

// In a scale of bins_ by 100.
std::string FrameStrip::outline(const FrameSet& frames, bool from_above) const {
  const Bins bins = sorted(frames);
  const int base = from_above ? 0 : 100;
  std::string path;
  int height_before = 0;
  for (std::size_t i = 0; i <= bins_; ++i) {
    int height = 0;
    if (i < bins_ && bins[i] > 0) {  // what is there is seen
      height =
          std::max(8, static_cast<int>(share_of(bins[i], std::max(all_[i], bins[i])) * 100));
    }
    if (height == height_before) continue;
    if (path.empty()) path = fmt::format("M{} {}", i, base);
    path += fmt::format("H{}V{}", i, from_above ? height : 100 - height);
    height_before = height;
  }
  return path.empty() ? path : path + "Z";
}

void FrameStrip::draw(Html& html, const FrameSet& read, const FrameSet& lost,
                      const std::string& title) const {
  draw_stretched(html, "strip", title, static_cast<double>(bins_), 100, [&] {
    for (const auto& [kind, path] :
         {std::pair("read", outline(read, false)), std::pair("lost", outline(lost, true))}) {
      if (!path.empty()) html.empty_element("path", {{"class", kind}, {"d", path}});
    }
  });
}

void draw_course(Html& html, const std::vector<std::optional<double>>& shares,
                 const std::string& title) {
  const double width = std::max<double>(1, static_cast<double>(shares.size()) - 1);
  draw_stretched(html, "course", title, width, 100, [&] {
    std::string path;
    bool is_on = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (!shares[i]) {
        is_on = false;
        continue;
      }
      const double y = 100 - std::clamp(*shares[i], 0.0, 1.0) * 100;
      path += fmt::format("{}{} {:.1f}", is_on ? "L" : "M", i, y);
      if (!is_on) path += fmt::format("l0.01 0");  // a single point is seen, too
      is_on = true;
    }
    for (const char* line : {"0", "50", "100"}) {
      html.empty_element("path",
                         {{"class", "grid"}, {"d", fmt::format("M0 {}H{}", line, width)}});
    }
    if (!path.empty()) html.empty_element("path", {{"class", "line"}, {"d", path}});
  });
}

}  // namespace zazen
