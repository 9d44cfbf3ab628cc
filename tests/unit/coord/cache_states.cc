#include "cache_states.h"

#include <algorithm>

namespace zazen {
namespace {

class Generator {
 public:
  explicit Generator(std::mt19937_64& random) : random_(random) {}

  CacheStates states() {
    CacheStates states;
    states.ranks.resize(1 + below(12));
    const bool several = below(3) == 0;
    for (std::uint64_t& ranks : states.ranks) ranks = several ? 1 + below(9) : 1;
    states.frames = domain();
    states.natives.assign(states.nodes(), Bitmap(states.frames));
    states.aliens = states.natives;
    fill(&states.natives);
    fill(&states.aliens);
    lose_daemons(&states);
    return states;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  // Nodes that cannot cache seldom hold something.
  void lose_daemons(CacheStates* states) {
    states->caches.assign(states->nodes(), 1);
    const std::size_t dead = below(2) == 0 ? 0 : 1 + below(100);
    for (std::size_t n = 0; n < states->nodes(); ++n) {
      if (below(100) >= dead) continue;
      states->caches[n] = 0;
      if (below(4) == 0) continue;
      states->natives[n] = states->aliens[n] = Bitmap(states->frames);
    }
  }

  std::size_t domain() {
    if (below(200) == 0) return below(300'000);
    switch (below(4)) {
      case 0:
        return below(4);
      case 1:
        return 60 + below(9);
      case 2:
        return below(400);
      default:
        return below(40);
    }
  }

  void fill(std::vector<Bitmap>* sets) {
    const std::size_t frames = sets->front().size(), nodes = sets->size();
    switch (below(6)) {
      case 0:  // nobody holds anything
        return;
      case 1: {  // each frame on one node at most, in a random place
        const std::size_t missing = below(3) == 0 ? below(20) : 0;
        for (std::size_t i = 0; i < frames; ++i)
          if (below(100) >= missing) (*sets)[below(nodes)].set(i);
        return;
      }
      case 2:  // each frame on one node, in turn or in blocks
        for (std::size_t i = 0, blocks = below(2); i < frames; ++i)
          (*sets)[blocks ? i * nodes / frames : i % nodes].set(i);
        return;
      case 3: {  // the same on several nodes
        pattern(&sets->front());
        for (std::size_t n = 1; n < nodes; ++n)
          if (below(3) != 0) (*sets)[n] = sets->front();
        return;
      }
      default:  // each node by itself; some are empty
        for (Bitmap& set : *sets)
          if (below(4) != 0) pattern(&set);
    }
  }

  void pattern(Bitmap* set) {
    const std::size_t frames = set->size();
    if (frames == 0) return;
    switch (below(5)) {
      case 0: {
        const std::size_t rates[] = {1, 10, 50, 90, 100};
        const std::size_t rate = rates[below(5)];
        for (std::size_t i = 0; i < frames; ++i)
          if (below(100) < rate) set->set(i);
        return;
      }
      case 1: {
        const std::size_t stride = 1 + below(std::min<std::size_t>(frames, 700));
        for (std::size_t i = below(stride); i < frames; i += stride) set->set(i);
        return;
      }
      case 2: {
        const std::size_t begin = below(frames), end = begin + below(frames - begin) + 1;
        for (std::size_t i = begin; i < end; ++i) set->set(i);
        return;
      }
      case 3:  // the ends, and where words and chunks meet
        for (std::size_t i : {0UL, 63UL, 64UL, 65'535UL, 65'536UL, 131'071UL, frames - 1})
          if (i < frames && below(4) != 0) set->set(i);
        return;
      default:
        set->set(below(frames));
    }
  }

  std::mt19937_64& random_;
};

}  // namespace

CacheStates random_states(std::mt19937_64& random) {
  return Generator(random).states();
}

}  // namespace zazen
