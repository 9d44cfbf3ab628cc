#include "tools/web/html.h"

#include <gtest/gtest.h>

#include "tools/web/chart.h"

namespace zazen {
namespace {

TEST(Html, EveryTextAndValueIsEscaped) {
  EXPECT_EQ(escape_html("<a href='x'>\"&amp;"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;amp;");
  EXPECT_EQ(escape_html("a\tb\x1b[31m\x7f\\"), "a\\x09b\\x1b[31m\\x7f\\");
  EXPECT_EQ(escape_html(std::string_view("a\0b", 3)), "a\\x00b");
  Html html;
  html.element("p", {{"title", "\"><b>"}}, "<i>");
  EXPECT_EQ(html.written(), "\n<p title=\"&quot;&gt;&lt;b&gt;\">&lt;i&gt;</p>");
}

TEST(Html, FiguresAreExactForPrograms) {
  Html html;
  html.bytes(1'620'000'000'001);
  EXPECT_EQ(html.written(), "<data value=\"1620000000001\">1.62 TB</data>");
}

// The outline of the bars in a drawn strip.
std::string path_of(const FrameSet& all, const FrameSet& read) {
  Html html;
  FrameStrip(all).draw(html, read, {}, "a strip");
  const std::string& text = html.written();
  const std::size_t at = text.find(" d=\"");
  return at == text.npos ? "" : text.substr(at + 4, text.find('"', at + 4) - at - 4);
}

TEST(FrameStrip, HasABarWhereFramesAre) {
  const FrameSet all({0, 1, 2, 3});
  EXPECT_EQ(path_of(all, {}), "");
  EXPECT_EQ(path_of(all, all), "M0 100H0V0H4V100Z");
  EXPECT_EQ(path_of(all, FrameSet({1})), "M1 100H1V0H2V100Z");
}

TEST(FrameStrip, ManyFramesShareABar) {
  std::vector<FrameSeq> all, every_fourth;
  for (FrameSeq seq = 0; seq < 6'000; ++seq) {
    all.push_back(seq);
    if (seq % 4 == 0) every_fourth.push_back(seq);
  }
  EXPECT_EQ(path_of(FrameSet(all), FrameSet(every_fourth)), "M0 100H0V75H60V100Z");
  // A frame with the largest number is in the last bar.
  EXPECT_EQ(path_of(FrameSet({0, ~FrameSeq{0}}), FrameSet({~FrameSeq{0}})),
            "M59 100H59V0H60V100Z");
}

}  // namespace
}  // namespace zazen
