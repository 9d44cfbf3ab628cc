#include "tests/fault/disk_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace zazen {

using Type = DiskChange::Type;

std::string DiskChange::describe() const {
  static constexpr std::array kNames = {
      "make",   "make unnamed", "mkdir",        "link",       "unlink", "rename",    "write",
      "resize", "set mode",     "set identity", "flush data", "flush",  "flush all", "word"};
  static constexpr std::array kMeanings = {"pushed", "changing", "invalidated", "evicting"};
  std::string text = kNames[static_cast<std::size_t>(type)];
  if (type == Type::kWord) {
    return fmt::format("word: {} dataset {} frame {} version {}",
                       kMeanings[static_cast<std::size_t>(word.meaning)], word.dataset,
                       word.seq, word.version);
  }
  if (node >= 0) text += fmt::format(" node {}", node);
  if (directory >= 0) text += fmt::format(" as {}/{}", directory, name);
  if (old_directory >= 0) text += fmt::format(" from {}/{}", old_directory, old_name);
  if (type == Type::kWrite) text += fmt::format(" {}+{}", offset, bytes.size());
  if (type == Type::kResize) text += fmt::format(" to {}", offset);
  if (type == Type::kSetMode) text += fmt::format(" {:o}", mode);
  return text;
}

void add_node(const DiskChange& change, FileTree& tree) {
  auto wanted = static_cast<std::size_t>(change.node);
  if (tree.nodes.size() <= wanted) tree.nodes.resize(wanted + 1);
  tree.nodes[wanted].is_directory = change.type == Type::kMakeDirectory;
  tree.nodes[wanted].mode = change.mode;
}

void apply(const DiskChange& change, FileTree& tree) {
  auto at = [&](int number) -> FileNode& {
    return tree.nodes[static_cast<std::size_t>(number)];
  };
  switch (change.type) {
    case Type::kMake:
    case Type::kMakeDirectory:
      add_node(change, tree);
      at(change.directory).names[change.name] = change.node;
      break;
    case Type::kMakeUnnamed:
      add_node(change, tree);
      break;
    case Type::kLink:
      at(change.directory).names[change.name] = change.node;
      break;
    case Type::kUnlink:
      at(change.directory).names.erase(change.name);
      break;
    case Type::kRename:
      at(change.old_directory).names.erase(change.old_name);
      at(change.directory).names[change.name] = change.node;
      break;
    case Type::kWrite: {
      std::string& bytes = at(change.node).bytes;
      bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
      bytes.replace(change.offset, change.bytes.size(), change.bytes);
      break;
    }
    case Type::kResize:
      at(change.node).bytes.resize(change.offset);
      break;
    case Type::kSetMode:
      at(change.node).mode = change.mode;
      break;
    case Type::kSetIdentity:
      at(change.node).identity = change.identity;
      break;
    case Type::kFlushData:
    case Type::kFlush:
    case Type::kFlushAll:
    case Type::kWord:
      break;
  }
}

}  // namespace zazen
