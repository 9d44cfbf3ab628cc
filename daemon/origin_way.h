// OriginWay: the directories through which a frame is reached, held open while it is looked up
// (D15).
//
// The owner of a directory above a dataset can swap it for a link to another place at any time.
// So a path that is resolved twice may lead to two places. A way is therefore walked once,
// directory by directory. The frame is looked up below the last descriptor, and the rights of
// all directories are read from these descriptors.
//
// Links in the dataset's path are followed. Links in a frame's name are refused (ELOOP).
#pragma once
#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/unique_fd.h"
#include "daemon/access_list.h"
#include "daemon/peer_identity.h"

namespace zazen {

struct ReachedDirectory {  // of one component of the path, as one directory of the cache is
  std::vector<std::pair<dev_t, ino_t>> places;  // several if the component is a link
  AccessList searchers;                         // those who may search all of them
  bool operator==(const ReachedDirectory&) const = default;
};
using ReachedDirectories = std::vector<ReachedDirectory>;  // outermost first

// One directory among all that there ever were. Where the file system does not tell when it was
// made, a number may come again.
struct FrameDirectory {
  dev_t dev;  // another number after the file system was mounted again
  ino_t ino;
  std::int64_t born_ns;  // 0: not known

  bool is_same(const FrameDirectory& other) const {
    const bool is_known = born_ns != 0 && other.born_ns != 0;
    return ino == other.ino && (is_known ? born_ns == other.born_ns : dev == other.dev);
  }
};

// "/a/b" and "a/b" give "a", "b".
std::vector<std::string> path_components(const std::string& path);

class OriginWay {
 public:
  // Walks to the directory `below` ("run1/7", may be "") of the dataset at `path` with the
  // rights of the client. Without a client the daemon walks; where root may not look (a server
  // that squashes root), the owner of the directory above does. Takes as long as the origin
  // takes.
  OriginWay(const std::string& path, const std::string& below, Peer client);

  int status() const { return status_; }  // 0, or the errno that ended the walk
  // Opens an entry of the last directory with the same rights. Not valid, with errno, if it
  // fails.
  UniqueFd open(const std::string& leaf, int flags) const;
  // One for each component. Those that were not reached have no places, and nobody may search
  // them.
  ReachedDirectories directories() const;
  // Those who may list the last directory.
  AccessList listers() const;
  std::optional<FrameDirectory> last() const;  // nothing: it was not reached
  // Also if it cannot be listed.
  bool is_empty() const;

 private:
  struct Step {
    std::size_t component;
    UniqueFd directory;
    struct stat st;
  };
  int walk(const std::vector<std::string>& components, std::size_t followed);
  int enter(const std::string& component, bool follows);
  static AccessList rights_of(const Step& step, Right right);

  const Peer client_;
  const std::size_t components_;
  UniqueFd root_;
  int here_ = -1;                      // of root_ or of a step
  std::optional<PeerIdentity> owner_;  // of `here_`, if it is a step
  std::size_t reached_ = 0;            // components that were entered completely
  int links_ = 0;
  std::vector<Step> steps_;
  int status_ = 0;
};

}  // namespace zazen
