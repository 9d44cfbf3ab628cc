// FileTree: a directory with everything in it, in memory: names, bytes, modes and the identity
// attribute. It can be read from a disk, changed one recorded call at a time, and written to
// another place. Times and owners are left out: the store does not decide by them.
#pragma once
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/lean/frames/identity.h"

namespace zazen {

struct FileNode {
  bool is_directory = false;
  mode_t mode = 0;
  std::string bytes;
  std::optional<OriginIdentity> identity;
  std::map<std::string, int> names;  // of a directory: to the number of a node
};

struct FileTree {
  static constexpr int kRoot = 0, kNone = -1;
  std::vector<FileNode> nodes = {FileNode{true, 0700, {}, {}, {}}};

  int find(int directory, const std::string& name) const;  // one component
  // "path: what is there", for each file and directory. The same for the same content.
  std::vector<std::string> describe() const;
};

// `inodes` is given the node of each inode number, if it is not null. Anything that cannot be
// read throws.
FileTree read_tree(const std::string& path, std::map<ino_t, int>* inodes = nullptr);
void write_tree(const FileTree& tree, const std::string& path);  // which must not exist

}  // namespace zazen
