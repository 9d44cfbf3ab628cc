// Pins: which frames of one dataset are never evicted, as ranges of sequence numbers, whether
// they are held yet or not; and how many of them are held.
//
// Kept in <cache><dataset>/.zazen/pins, one line "FIRST LAST" for each range, which replaces
// the file before it as a whole. Its attribute says for which `also` the numbers of companions
// are: with other patterns they are those of other names. No lock; RoomLedger has one.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"
#include "bodhi/lean/system/base_types.h"
#include "daemon/capacity/eviction.h"

namespace zazen {

// Of the file, and of the dataset's directory in the cache: the patterns (DatasetConfig::also).
inline constexpr char kAlsoAttribute[] = "user.zazen.also";

class Pins {
 public:
  // A dataset without the file has no pins.
  static Result<Pins> load(int directory_fd, const DatasetConfig& dataset);
  Status save(int directory_fd, const DatasetConfig& dataset) const;

  static Result<Pins> parse(const std::string& text);
  std::string text() const;

  void pin(FrameRange range);
  void unpin(FrameRange range);
  // Companions that only the former patterns name are pinned no more.
  void renumber_companions(const FrameName& former, const FrameName& name);
  bool contains(FrameSeq seq) const;
  const std::vector<FrameRange>& ranges() const { return ranges_; }

  // What is held, told by the store; after a change of the ranges it counts anew.
  void start_counting() { held_ = held_aliens_ = {}; }
  void count(FrameSeq seq, FrameKind kind, std::uint64_t bytes);
  void discount(FrameSeq seq, FrameKind kind, std::uint64_t bytes);
  const Room& held() const { return held_; }  // pinned frames
  const Room& held_aliens() const { return held_aliens_; }

 private:
  std::vector<FrameRange> ranges_;  // ascending, with gaps between them
  Room held_, held_aliens_;
};

}  // namespace zazen
