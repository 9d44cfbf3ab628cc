// NewPlaces: where the cache and the runtime directory of a new configuration go.
//
// The cache goes to the local disk with the most free space among the usual places: scratch
// directories, /var/tmp, for root /var/cache. It never goes to a network file system, to
// memory, or to a directory that another user has made or could replace.
#pragma once
#include <optional>
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

struct NewPlaces {
  std::string made;  // a directory that must be made first, private; "": none
  std::string cache, runtime;
  std::uint64_t free_bytes = 0;  // on the cache's disk
};

// Makes nothing. The error's context is the whole message.
Result<NewPlaces> choose_places(const std::string& dataset,
                                const std::optional<std::string>& cache);

// Compares components: "/sim10" is not below "/sim1".
bool is_at_or_below(const std::string& inner, const std::string& outer);

}  // namespace zazen
