// The origin's files as a worker sees them, with its user's rights (D23). It checks whether a
// descriptor from a client is the frame that the client names (D7, D15), and compares frames
// with the origin.
//
// A worker never opens a path that a client names. It takes the client's descriptor, looks the
// frame's name up itself, and compares device and inode. So no user can put another file's
// content under a frame's name. A frame that is a symbolic link is never cached.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <span>
#include <string>

#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"
#include "bodhi/lean/frames/identity.h"
#include "daemon/worker/origins/origin_way.h"

namespace zazen {

// 0 and the descriptor's stat, or an errno. EBADF: not open for reading. EINVAL: not a regular
// file. EPERM: not the file of that name. ENOENT: no such file or dataset. EACCES: not
// reachable. `reached`, if given, gets the directories through which it was found.
int verify_origin(const DatasetConfig& dataset, const std::string& name, int fd,
                  struct stat* out, ReachedDirectories* reached = nullptr);

// Opens the frame of a miss in a program's news by its name. `marks` are those of the files
// that programs have opened (bodhi/lean/frames/program_news.h). 0, or an errno as above.
int open_missed(const DatasetConfig& dataset, const std::string& name,
                std::span<const std::uint64_t> marks, UniqueFd* out, struct stat* st,
                ReachedDirectories* reached = nullptr);

// The mark of the file, as the program that opened it computes it.
std::uint64_t file_mark(const struct stat& st);

// True if a process on this machine has the file open, or mapped, for writing. Then its content
// may change without a trace (a store to a mapped page does not change the times). False also
// if unknown.
bool has_writer(int origin_fd);
// The same; nothing if unknown. A lease needs a file system that has leases, and the file's
// owner or CAP_LEASE. `is_own`: the open file description is the worker's own.
std::optional<bool> knows_writer(int origin_fd, bool is_own = false);

// Opens the file of a descriptor for reading, in an open file description of the worker's own.
// A client shares the description of a descriptor that it passed. It chooses the signal of a
// lease there, and a read-ahead hint would slow down its reads. Not valid if the worker may not
// open the file.
UniqueFd own_description(int fd);

// True if a given lease proves that no process has the file mapped for writing, and that every
// change has changed the times. False on tmpfs and its like: a store to a mapped page changes
// no time. False on overlayfs: a mapping outlives the writer that a lease knows of.
bool times_tell_changes(int origin_fd);
// True if mappings of this file cannot be known.
bool hides_mappings(int origin_fd);

// Opens the frame by its name; not valid, with errno, if that fails. `reached` as above.
UniqueFd find_named(const DatasetConfig& dataset, const std::string& name, int flags = O_PATH,
                    ReachedDirectories* reached = nullptr);
inline constexpr int kToRead = O_RDONLY | O_NONBLOCK;  // and a FIFO blocks nobody

// Looks at the origin's frame of this name for content of this size: status, facts and digest
// (daemon/origin/adoption.h). Takes as long as the origin takes.
OriginLook look_at_origin(const DatasetConfig& dataset, const std::string& name,
                          std::uint64_t bytes, bool all_users);

}  // namespace zazen
