// Facts that a worker has seen at an origin and sends to zazend (D23): zazend itself asks no
// origin. The rights of a copy and of its directories come from these facts (D15).
#pragma once
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/lean/frames/identity.h"
#include "daemon/origin/access_list.h"

namespace zazen {

struct ReachedDirectory {  // of one component of the path, as one directory of the cache is
  std::vector<std::pair<dev_t, ino_t>> places;  // several if the component is a link
  AccessList searchers;                         // those who may search all of them
  bool operator==(const ReachedDirectory&) const = default;
  template <class A>
  void fields(A& a) {
    a(places, searchers);
  }
};
using ReachedDirectories = std::vector<ReachedDirectory>;  // outermost first

// Identifies one directory among all that ever existed. On a file system that has no birth
// times a deleted directory's number may come again.
struct FrameDirectory {
  dev_t dev = 0;  // another number after the file system was mounted again
  ino_t ino = 0;
  std::int64_t born_ns = 0;  // 0: not known
  uid_t owner = 0;
  gid_t group = 0;

  bool is_same(const FrameDirectory& other) const {
    const bool is_known = born_ns != 0 && other.born_ns != 0;
    return ino == other.ino && owner == other.owner &&
           (is_known ? born_ns == other.born_ns : dev == other.dev);
  }
  template <class A>
  void fields(A& a) {
    a(dev, ino, born_ns, owner, group);
  }
};

struct RightsAtOrigin {
  ReachedDirectories directories;                 // up to the frame directory
  AccessList listers = AccessList::nobody();      // those who may list the frame directory
  std::optional<FrameDirectory> frame_directory;  // nothing: it cannot be reached
  bool is_empty = true;                           // the frame directory, or it cannot be listed

  bool is_open_to_all() const;
  template <class A>
  void fields(A& a) {
    a(directories, listers, frame_directory, is_empty);
  }
};

struct FrameRights {      // of one frame whose name has directories
  bool is_known = false;  // the origin has answered
  bool is_there = false;
  struct stat origin = {};
  ReachedDirectories reached;
  template <class A>
  void fields(A& a) {
    a(is_known, is_there, origin, reached);
  }
};

// True if a frame can have this stat: a regular file whose times fit in 64 bits as nanoseconds.
bool is_frame(const struct stat& st);

struct OriginFacts {  // of one file
  struct stat st = {};
  OriginAcl acl;               // this and `reached`: where all users are served
  ReachedDirectories reached;  // the directories through which it was found
  template <class A>
  void fields(A& a) {
    a(st, acl, reached);
  }
};

struct OriginLook {              // of a frame whose content was pushed
  std::int32_t status = ENOENT;  // 0: the origin has this very frame
  bool is_there = false;         // it has a frame of this name:
  OriginFacts origin;
  std::string digest;  // of its pages, where it is as long as the content (adoption.h)
  template <class A>
  void fields(A& a) {
    a(status, is_there, origin, digest);
  }
};

enum class Comparison : std::uint8_t { kSame, kStale, kGone, kArrived, kUnknown };

struct CopyToCompare {
  FrameSeq seq = 0;
  OriginIdentity identity = {};
  bool is_waiting = false;  // a native that the origin did not have
  template <class A>
  void fields(A& a) {
    a(seq, identity, is_waiting);
  }
};

}  // namespace zazen
