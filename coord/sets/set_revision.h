// SetRevision: a packed set that is changed chunk by chunk, from the first to the last.
//
// Bitmaps that stay bitmaps are changed in place: sets of a hundred megabytes are neither
// copied nor is memory for a second one needed. From the first other change on, the rest is put
// anew.
#pragma once
#include "coord/sets/packed_set.h"

namespace zazen {

class SetRevision {
 public:
  explicit SetRevision(PackedSet set) : set_(std::move(set)) {}

  // The next chunk as it is; its payload is valid until it is kept or changed.
  PackedChunk next();
  void keep();
  // Adds `more`, takes away `lost`, adds `adopted`; `gained` is how many members that makes if
  // none of `more` is there already. False, and nothing can be done with the set any more, if
  // something is lost that was not there, or adopted that was.
  bool change(const ChunkWords& more, const ChunkWords& lost, const ChunkWords& adopted,
              std::int64_t gained);
  // The same for few changes; `lost` has a bit for each of `more`, or there are none.
  bool change(std::span<const std::uint16_t> more, std::span<const std::byte> lost,
              std::span<const std::uint16_t> adopted, std::int64_t gained);
  // The same for a sparse chunk; all together have at most kFewMembers.
  bool change(std::span<const std::uint16_t> more, std::span<const std::uint16_t> lost,
              std::span<const std::uint16_t> adopted);
  PackedSet take() { return std::move(set_); }

 private:
  template <class Revise>
  bool change_words(std::int64_t gained, Revise&& revise);
  void put_rest_anew();

  PackedSet set_;
  std::size_t chunk_ = 0;
  PackedChunk old_;      // the chunk at hand
  bool anew_ = false;    // set_ ends before the chunk at hand, and
  BulkBytes rest_;       // these are the chunks from some chunk on
  PackedReader reader_;  // at the chunk after the one at hand
  ChunkPositions had_, has_;
};

}  // namespace zazen
