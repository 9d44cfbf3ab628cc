// OriginWay: the directories through which a frame is reached, held open while it is looked up
// (D15).
//
// The owner of a directory above a dataset can replace it by a link to another place at any
// time. So a path that is resolved twice may lead to two places. A way is therefore walked
// once, directory by directory. The frame is looked up below the last descriptor, and the
// rights of all directories are read from these descriptors.
//
// Links in the dataset's path are followed. Links in a frame's name are refused (ELOOP).
#pragma once
#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

class OriginWay {
 public:
  // Walks to the directory `below` ("run1/7", may be "") of the dataset at `path`. Takes as
  // long as the origin takes.
  OriginWay(const std::string& path, const std::string& below);

  int status() const { return status_; }  // 0, or the errno that ended the walk
  // Opens an entry of the last directory. Not valid, with errno, if it fails.
  UniqueFd open(const std::string& leaf, int flags) const;
  // One entry for each component. A component that was not reached has no places, and nobody
  // may search it.
  ReachedDirectories directories() const;
  // The users who may list the last directory.
  AccessList listers() const;
  std::optional<FrameDirectory> last() const;  // nothing: it was not reached
  // True also if the directory cannot be listed.
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

  const std::size_t components_;
  UniqueFd root_;
  int here_ = -1;            // of root_ or of a step
  std::size_t reached_ = 0;  // components that were entered
  int links_ = 0;
  std::vector<Step> steps_;
  int status_ = 0;
};

// True if the origin says that there is no file, or that the user may not see it. Other errors
// say nothing.
bool says_no(int code);

// The rights of a dataset's directories. Nothing if the origin does not answer. Takes as long
// as the origin takes.
std::optional<RightsAtOrigin> rights_at_origin(const DatasetConfig& dataset);
// The same for one frame, through the directories of its name.
FrameRights frame_rights(const DatasetConfig& dataset, const std::string& name);

}  // namespace zazen
