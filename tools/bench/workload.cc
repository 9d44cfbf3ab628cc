// Random numbers are hashes of what they are for, so that all nodes draw the same.
#include "tools/bench/workload.h"

#include <algorithm>

namespace zazen {
namespace {

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9e37'79b9'7f4a'7c15ULL;
  value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9ULL;
  value = (value ^ value >> 27) * 0x94d0'49bb'1331'11ebULL;
  return value ^ value >> 31;
}

// Where the node stands in the group's permutation: Fisher and Yates' shuffle, of which only
// this node is followed.
std::size_t place_in_group(std::size_t group, std::size_t node, std::size_t nodes) {
  std::uint64_t bits = 0;
  std::size_t place = node;
  for (std::size_t i = nodes - 1, drawn = 0; i > 0; --i, ++drawn) {
    bits = drawn % 4 == 0 ? mixed(group * 1024 + drawn) : bits >> 16;
    const std::size_t j = (bits & 0xffff) * (i + 1) >> 16;
    place = place == i ? j : place == j ? i : place;
  }
  return place;
}

enum class Fate { kNative, kNowhere, kAlien };
struct Draw {
  Fate fate;
  std::uint64_t rest;
};
Draw draw(std::size_t frame) {
  const std::uint64_t bits = mixed(~frame);
  const std::uint64_t percent = (bits & 0xffff'ffff) * 100 >> 32;
  return {percent < 5    ? Fate::kNowhere
          : percent < 10 ? Fate::kAlien
                         : Fate::kNative,
          bits >> 32};
}

Holdings shuffled(std::size_t frames, std::size_t node, std::size_t nodes, bool holes) {
  PackedSetWriter natives(frames), aliens(frames);
  for (std::size_t begin = 0, group = 0; begin < frames; begin += nodes, ++group) {
    const std::size_t mine = begin + place_in_group(group, node, nodes);
    if (mine < frames && (!holes || draw(mine).fate == Fate::kNative)) natives.append(mine);
  }
  for (std::size_t i = 0; holes && i < frames; ++i) {
    const Draw drawn = draw(i);
    if (drawn.fate != Fate::kAlien) continue;
    const std::size_t first = drawn.rest % nodes, holders = 2 + drawn.rest / nodes % 3;
    if ((node + nodes - first) % nodes < std::min(holders, nodes)) aliens.append(i);
  }
  return {natives.take(), aliens.take()};
}

}  // namespace

std::optional<Workload> workload_named(const std::string& name) {
  if (name == "blocks") return Workload::kBlocks;
  if (name == "roundrobin") return Workload::kRoundRobin;
  if (name == "holes") return Workload::kHoles;
  return std::nullopt;
}

Holdings holdings_of(Workload workload, std::size_t frames, std::size_t node,
                     std::size_t nodes) {
  if (workload != Workload::kBlocks)
    return shuffled(frames, node, nodes, workload == Workload::kHoles);
  const Block block = block_of(frames, node, nodes);
  PackedSetWriter natives(frames), aliens(frames);
  natives.append_run(block.begin, 1, block.end - block.begin);
  aliens.append_run(0, 1, block.begin);
  aliens.append_run(block.end, 1, frames - block.end);
  return {natives.take(), aliens.take()};
}

}  // namespace zazen
