// The origin's files as a worker sees them, with its user's rights (D23): is the descriptor that
// a client handed over the frame that it claims to be (D7, D15), and what does the origin say of
// a frame now?
//
// A worker never opens a path that a client names. It takes the client's descriptor and looks
// the frame's name up itself, to compare device and inode: so nobody can plant another file's
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

// 0 and the descriptor's stat, or an errno: EBADF not open for reading, EINVAL not a regular
// file, EPERM not the file of that name, ENOENT no such file or dataset, EACCES it is out of
// reach. `reached`, if given, gets the directories through which it was found.
int verify_origin(const DatasetConfig& dataset, const std::string& name, int fd,
                  struct stat* out, ReachedDirectories* reached = nullptr);

// Opens the frame of a miss that was told by news, by its name: `marks` are those of the files
// that programs have opened (bodhi/lean/frames/program_news.h). 0, or an errno as above.
int open_missed(const DatasetConfig& dataset, const std::string& name,
                std::span<const std::uint64_t> marks, UniqueFd* out, struct stat* st,
                ReachedDirectories* reached = nullptr);

// Of the file: as the program that opened it makes it.
std::uint64_t file_mark(const struct stat& st);

// Somebody on this machine has the file open, or mapped, for writing: what is read now may
// change without any mark (a store to a mapped page moves no time). False if that cannot be
// known.
bool has_writer(int origin_fd);
// The same, nothing if it cannot be known: a lease needs a file system that has them, and the
// file's owner or CAP_LEASE. `is_own`: the description is the worker's own.
std::optional<bool> knows_writer(int origin_fd, bool is_own = false);

// The file of a descriptor, open for reading in a description of the worker's own. A client
// shares the description of a descriptor that it passed: it chooses the signal of a lease
// there, and a hint of ours would slow down its reads. Not valid if the worker may not open the
// file.
UniqueFd own_description(int fd);

// Where a lease is given nobody has the file mapped for writing either, and whatever was
// changed has moved its times. False: on tmpfs and its like a store to a mapped page moves
// none; on overlayfs a mapping outlives the writer that a lease knows of.
bool times_tell_changes(int origin_fd);
// Nobody can know of all mappings of this file.
bool hides_mappings(int origin_fd);

// The frame as it is found by its name; not valid, with errno, if it is not. `reached` as above.
UniqueFd find_named(const DatasetConfig& dataset, const std::string& name, int flags = O_PATH,
                    ReachedDirectories* reached = nullptr);
inline constexpr int kToRead = O_RDONLY | O_NONBLOCK;  // and a FIFO holds up nobody

}  // namespace zazen
