#include "tests/fault/file_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "bodhi/common/unique_fd.h"

namespace zazen {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

void read_below(const std::string& path, int directory, FileTree& tree,
                std::map<ino_t, int>& inodes) {
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    struct stat st = {};
    if (::lstat(entry.path().c_str(), &st) != 0) fail(entry.path());
    auto known = inodes.find(st.st_ino);
    int node = known != inodes.end() ? known->second : static_cast<int>(tree.nodes.size());
    tree.nodes[static_cast<std::size_t>(directory)].names[entry.path().filename()] = node;
    if (known != inodes.end()) continue;
    inodes[st.st_ino] = node;
    FileNode made{S_ISDIR(st.st_mode), st.st_mode & 07777, {}, {}, {}};
    if (!made.is_directory) {
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      made.bytes = bytes.str();
      OriginIdentity identity = {};
      if (read_identity_at(entry.path().c_str(), &identity) == 0) made.identity = identity;
    }
    tree.nodes.push_back(made);
    if (made.is_directory) read_below(entry.path(), node, tree, inodes);
  }
}

// The daemon's tables are mapped: what is written to them cannot be recorded. A start believes
// them only after a clean stop, by their seal.
bool is_mapped(const std::string& name) {
  return name.ends_with(".table") || name.ends_with(".table.new");
}

void write_below(const FileTree& tree, int directory, const std::string& path) {
  for (const auto& [name, number] : tree.nodes[static_cast<std::size_t>(directory)].names) {
    if (is_mapped(name)) continue;
    const FileNode& node = tree.nodes[static_cast<std::size_t>(number)];
    std::string below = path + "/" + name;
    if (node.is_directory) {
      if (::mkdir(below.c_str(), 0700) != 0) fail(below);
      write_below(tree, number, below);
      continue;
    }
    UniqueFd fd(::open(below.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    auto size = static_cast<ssize_t>(node.bytes.size());
    if (!fd.valid() || ::pwrite(fd.get(), node.bytes.data(), node.bytes.size(), 0) != size ||
        (node.identity && write_identity(fd.get(), *node.identity) != 0) ||
        ::fchmod(fd.get(), node.mode) != 0) {
      fail(below);
    }
  }
}

void describe_below(const FileTree& tree, int directory, const std::string& path,
                    std::vector<std::string>& out) {
  for (const auto& [name, number] : tree.nodes[static_cast<std::size_t>(directory)].names) {
    if (is_mapped(name)) continue;
    const FileNode& node = tree.nodes[static_cast<std::size_t>(number)];
    std::string below = path + "/" + name;
    if (node.is_directory) {
      out.push_back(below + ": directory");
      describe_below(tree, number, below, out);
      continue;
    }
    std::string identity = "none";
    if (node.identity) {
      const OriginIdentity& i = *node.identity;
      identity = fmt::format("kind {} size {} ino {} mtime {} sum {:x}",
                             i.kind == FrameKind::kNative ? "native" : "alien", i.size, i.ino,
                             i.mtime_ns, i.checksum);
    }
    out.push_back(fmt::format("{}: mode {:o} size {} bytes {:x} identity {}", below, node.mode,
                              node.bytes.size(),
                              XXH3_64bits(node.bytes.data(), node.bytes.size()), identity));
  }
}

}  // namespace

int FileTree::find(int directory, const std::string& name) const {
  const std::map<std::string, int>& names = nodes[static_cast<std::size_t>(directory)].names;
  auto it = names.find(name);
  return it == names.end() ? kNone : it->second;
}

std::vector<std::string> FileTree::describe() const {
  std::vector<std::string> lines;
  describe_below(*this, kRoot, "", lines);
  return lines;
}

FileTree read_tree(const std::string& path, std::map<ino_t, int>* inodes) {
  FileTree tree;
  std::map<ino_t, int> found;
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) fail(path);
  found[st.st_ino] = FileTree::kRoot;
  read_below(path, FileTree::kRoot, tree, found);
  if (inodes != nullptr) *inodes = std::move(found);
  return tree;
}

void write_tree(const FileTree& tree, const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) fail(path);
  write_below(tree, FileTree::kRoot, path);
}

}  // namespace zazen
