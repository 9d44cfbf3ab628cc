// PackedSetUpdate: changes a packed set chunk by chunk, from the first to the last.
//
// Bitmaps that stay bitmaps are changed in place, so a set of a hundred megabytes is neither
// copied nor needs memory twice. From the first other change on, the remaining chunks are put
// anew.
#pragma once
#include "coord/sets/packed_set.h"

namespace zazen {

class PackedSetUpdate {
 public:
  explicit PackedSetUpdate(PackedSet set) : set_(std::move(set)) {}

  // The next chunk, unchanged; its payload is valid until it is kept or changed.
  PackedChunk next();
  void keep();
  // Adds `more`, removes `lost`, adds `adopted`. False, and the set becomes unusable, if a lost
  // frame was not present, or an adopted one was.
  bool change(const ChunkWords& more, const ChunkWords& lost, const ChunkWords& adopted);
  // The same for few changes; `lost` has a bit for each of `more`, or is empty.
  bool change(std::span<const std::uint16_t> more, std::span<const std::byte> lost,
              std::span<const std::uint16_t> adopted);
  PackedSet take() { return std::move(set_); }

 private:
  template <class Revise>
  bool change_words(Revise&& revise);
  void put_rest_anew();

  PackedSet set_;
  std::size_t chunk_ = 0;
  PackedChunk old_;      // the current chunk
  bool anew_ = false;    // set_ ends before the current chunk, and
  BulkBytes rest_;       // this has the chunks from there on
  PackedReader reader_;  // at the chunk after the current one
};

}  // namespace zazen
