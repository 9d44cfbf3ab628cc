// TreeWalk: nftw and ftw over the hooked calls.
//
// One walk over a file tree that calls the program's function for each object. Names come from
// opendir and readdir, so a frame directory shows the frames of the view or the origin. stat
// comes from the hooked calls, too. Order, flags, errors and results are glibc's.
//
// Allocates, as glibc's functions do: the path, the directories already seen, the names of
// directories that had to be closed. The end of the walk frees everything, in all cases.
#pragma once
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include <cstddef>

namespace zazen {

struct TreeVisitor {  // one of the two
  __ftw_func_t plain = nullptr;
  __nftw_func_t detailed = nullptr;
};

class TreeWalk {
 public:
  TreeWalk(const TreeVisitor& visitor, int flags, int open_limit);
  ~TreeWalk();
  TreeWalk(const TreeWalk&) = delete;
  TreeWalk& operator=(const TreeWalk&) = delete;

  // The result of nftw.
  int run(const char* top);

 private:
  struct Level {  // a directory that the walk is in
    Level* outer;
    DIR* stream;  // null: closed, to keep the limit; then:
    char* names;  // the remaining names, each with its NUL; an empty one ends them
  };

  bool set_path(const char* top);
  bool append_name(const char* name);
  const char* top_name() const;

  int walk_top();
  int enter(const struct stat& st, Level* outer);
  int read_level(Level& level);
  int handle(Level& level, const char* name);
  int classify(const Level& level, const char* name, struct stat* st) const;
  int visit(const struct stat& st, int type);

  bool open_level(Level* level);
  bool close_outermost();
  void close_level(Level* level);
  bool go_home_later();
  bool step_out(const Level* outer) const;

  int remember(const struct stat& directory);  // 1: seen for the first time, 0: again, -1
  bool has(int flag) const { return (flags_ & flag) != 0; }
  bool stops(int result) const;

  TreeVisitor visitor_;
  int flags_;
  int open_limit_;
  int open_count_ = 0;
  Level* innermost_ = nullptr;
  char* path_ = nullptr;
  std::size_t path_capacity_ = 0;
  struct FTW position_ = {0, 0};
  dev_t device_ = 0;
  void* seen_ = nullptr;  // a tree of DirectoryKey, see tsearch
  int home_fd_ = -1;      // the working directory before an FTW_CHDIR walk
  char* home_path_ = nullptr;
};

}  // namespace zazen
