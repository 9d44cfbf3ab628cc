#include "coord/set_revision.h"

#include <cstring>

namespace zazen {

PackedChunk SetRevision::next() {
  if (anew_)
    reader_.next(set_.chunk_limit(chunk_), &old_);
  else
    old_ = set_.chunk(chunk_);
  return old_;
}

void SetRevision::keep() {
  if (anew_) set_.put_chunk(chunk_, old_);
  ++chunk_;
}

void SetRevision::replace(const ChunkWords& words) {
  if (anew_ || !set_.overwrite_bitmap(chunk_, words)) {
    if (!anew_) {
      const std::span<const std::byte> rest = set_.bytes({chunk_ + 1, set_.chunks()});
      rest_.resize(rest.size());
      std::ranges::copy(rest, rest_.data());
      reader_ = PackedReader(rest_);
      set_.truncate(chunk_);
      anew_ = true;
    }
    set_.put_chunk(chunk_, words);
  }
  ++chunk_;
}

}  // namespace zazen
