#include "tests/fault/crash_model.h"

#include <algorithm>
#include <array>
#include <limits>

namespace zazen {
namespace {

using Type = DiskChange::Type;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kBlock = 512;

bool covers(const DiskChange& flush, const DiskChange& change) {
  if (flush.type == Type::kFlushAll) return true;
  switch (change.type) {
    case Type::kMake:
    case Type::kMakeDirectory:
    case Type::kLink:
    case Type::kUnlink:
    case Type::kRename:
      return flush.type == Type::kFlush && flush.node == change.directory;
    case Type::kWrite:
    case Type::kResize:
      return flush.node == change.node;
    case Type::kSetMode:
    case Type::kSetIdentity:
      return flush.type == Type::kFlush && flush.node == change.node;
    case Type::kMakeUnnamed:
    case Type::kFlushData:
    case Type::kFlush:
    case Type::kFlushAll:
    case Type::kWord:
      return false;
  }
  return false;
}

// Can it be lost at all? A file without a name is there or is out of reach: no matter which.
bool can_be_lost(const DiskChange& change) {
  return !change.is_flush() && change.type != Type::kWord && change.type != Type::kMakeUnnamed;
}

void tear(const DiskChange& write, FileTree& tree, std::mt19937_64& random) {
  DiskChange torn = write;
  std::size_t size = write.bytes.size();
  if (random() % 2 == 0) {  // the beginning only
    std::size_t kept = random() % (size + 1);
    std::size_t boundary = (write.offset + kept) / kBlock * kBlock;
    if (size > kBlock) kept = boundary > write.offset ? boundary - write.offset : 0;
    torn.bytes.resize(kept);
  } else {  // some blocks; zeros for the others
    for (std::size_t i = 0; i < size; i += kBlock) {
      std::size_t block = std::min(kBlock, size - i);
      if (random() % 2 == 0) torn.bytes.replace(i, block, block, '\0');
    }
  }
  apply(torn, tree);
  std::string& bytes = tree.nodes[static_cast<std::size_t>(write.node)].bytes;
  if (random() % 2 == 0) bytes.resize(std::max(bytes.size(), write.offset + size));
}

}  // namespace

CrashModel::CrashModel(const disk_recorder::Record& record)
    : record_(record), flushed_by_(record.changes.size(), kNever) {
  for (std::size_t i = 0; i < changes(); ++i) {
    if (!can_be_lost(change(i))) continue;
    for (std::size_t k = i + 1; k < changes(); ++k) {
      if (!change(k).is_flush() || !covers(change(k), change(i))) continue;
      flushed_by_[i] = k;
      break;
    }
  }
}

FileTree CrashModel::process_died(std::size_t length) const {
  FileTree tree = record_.before;
  for (std::size_t i = 0; i < length; ++i) apply(change(i), tree);
  return tree;
}

FileTree CrashModel::power_lost(std::size_t length) const {
  FileTree tree = record_.before;
  for (std::size_t i = 0; i < length; ++i) {
    bool lost = can_be_lost(change(i)) && flushed_by_[i] >= length;
    if (!lost)
      apply(change(i), tree);
    else if (change(i).type == Type::kMake || change(i).type == Type::kMakeDirectory)
      add_node(change(i), tree);
  }
  return tree;
}

FileTree CrashModel::power_lost(std::size_t length, std::mt19937_64& random) const {
  FileTree tree = record_.before;
  // Nearly nothing lost, or nearly everything, or half: each finds other things.
  const unsigned lost_of_8 = static_cast<unsigned>(std::array{1, 4, 7}[random() % 3]);
  for (std::size_t i = 0; i < length; ++i) {
    bool flushed = !can_be_lost(change(i)) || flushed_by_[i] < length;
    if (flushed || random() % 8 >= lost_of_8) {
      apply(change(i), tree);
    } else if (change(i).type == Type::kMake || change(i).type == Type::kMakeDirectory) {
      add_node(change(i), tree);
    } else if (change(i).type == Type::kWrite && random() % 2 == 0) {
      tear(change(i), tree, random);
    }
  }
  return tree;
}

std::size_t CrashModel::unflushed(std::size_t length) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < length; ++i) {
    count += can_be_lost(change(i)) && flushed_by_[i] >= length ? 1 : 0;
  }
  return count;
}

}  // namespace zazen
