// DiskChange: one recorded call that changed the cache's disk, or flushed it. Between them are
// notes of the workload: what a client was told, and what it was about to do.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/system/base_types.h"
#include "tests/fault/file_tree.h"

namespace zazen {

struct Word {
  enum class Meaning {
    kPushed,       // the writer was told that this version is stored
    kChanging,     // the origin's frame is about to become this version
    kInvalidated,  // the writer was told that no older version will be served
    kEvicting,     // the natives of the dataset may go from now on
  };
  Meaning meaning;
  std::uint32_t dataset;
  FrameSeq seq;
  std::size_t version;
};

struct DiskChange {
  enum class Type {
    kMake,           // node, with its first name
    kMakeUnnamed,    // node
    kMakeDirectory,  // node
    kLink,           // node gets a name
    kUnlink,         // a file's or a directory's name goes
    kRename,         // from old_directory, old_name; node is what moves
    kWrite,
    kResize,
    kSetMode,
    kSetIdentity,
    kFlushData,  // fdatasync: bytes and size of node
    kFlush,      // fsync: all of a file, or the names in a directory
    kFlushAll,   // syncfs
    kWord,
  };
  Type type;
  int node = FileTree::kNone;
  int directory = FileTree::kNone;  // where `name` is
  std::string name = {};
  int old_directory = FileTree::kNone;
  std::string old_name = {};
  std::uint64_t offset = 0;  // kWrite; the size for kResize
  std::string bytes = {};
  mode_t mode = 0;
  OriginIdentity identity = {};
  Word word = {};

  bool is_flush() const {
    return type == Type::kFlushData || type == Type::kFlush || type == Type::kFlushAll;
  }
  std::string describe() const;
};

// New nodes are numbered in the order of their making, so a tree has them all, kept or not.
void apply(const DiskChange& change, FileTree& tree);
// Adds the node that `change` makes, without its name.
void add_node(const DiskChange& change, FileTree& tree);

}  // namespace zazen
