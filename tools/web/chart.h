// Charts as inline SVG. The figures stand in the text or the table beside them; a chart has a
// title all the same. Parts differ in form, too, never in colour alone.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/node/frame_set.h"
#include "tools/web/html.h"

namespace zazen {

// The patterns that the charts of a page use; once, before them.
void define_patterns(Html& html);

// A bar of two parts: solid from the cache, hatched from the origin. `whole` is the length of
// the longest bar.
void draw_share(Html& html, std::uint64_t cached, std::uint64_t origin, std::uint64_t whole,
                const std::string& title);
// How much of the whole is used.
void draw_level(Html& html, double part, const std::string& title);

// Where in a trajectory frames lie: a strip of bins, each as high as its share of the frames.
class FrameStrip {
 public:
  static constexpr std::size_t kMostBins = 60;
  explicit FrameStrip(const FrameSet& all);  // the frames of the whole strip

  // Solid bars from below for frames that were read, hollow ones from above for lost ones.
  void draw(Html& html, const FrameSet& read, const FrameSet& lost,
            const std::string& title) const;

 private:
  using Bins = std::array<std::uint64_t, kMostBins>;
  Bins sorted(const FrameSet& frames) const;
  std::string outline(const FrameSet& frames, bool from_above) const;

  FrameSeq first_ = 0, last_ = 0;
  std::size_t bins_ = 1;
  Bins all_ = {};
};

// Shares, 0 to 1, at equal distances in time, the latest last. No line where there is none.
void draw_course(Html& html, const std::vector<std::optional<double>>& shares,
                 const std::string& title);

}  // namespace zazen
