// TreeStream: an FTS of our own, read over the hooked calls.
//
// fts_open makes it while listings are watched. It begins with the public FTS, whose fields
// programs may read. A bit in fts_options identifies it: libc's fts_open refuses this bit, so
// no FTS of libc has it. So no table is needed, and streams of both kinds can coexist. FTS64
// and FTSENT64 are the same structures here.
//
// Entries, order, changes of directory, errors and instructions are those of glibc's fts. The
// path's buffer has the greatest length that fts_pathlen can express, so it never moves.
#pragma once
#include <dirent.h>
#include <fts.h>
#include <sys/stat.h>

#include <cstddef>

namespace zazen {

class TreeStream {
 public:
  using Compare = int (*)(const FTSENT**, const FTSENT**);

  // Null with errno, as fts_open.
  static FTS* open(char* const* tops, int options, Compare compare);
  // Null: a stream of libc.
  static TreeStream* of(FTS* stream);

  FTSENT* read();
  FTSENT* children(int instruction);
  static int set(FTSENT* entry, int instruction);
  int close();  // and gone

 private:
  static constexpr std::size_t kLongestPath = 65534;  // fts_pathlen is an unsigned short

  enum class Purpose { kRead, kChildren, kNames };
  struct Build;

  bool add_tops(char* const* tops);
  FTSENT* make_entry(const char* name, std::size_t length) const;
  static void free_entry(FTSENT* entry);
  static void free_list(FTSENT* list);
  void drop_children();

  FTSENT* descend(FTSENT* directory);
  FTSENT* advance(FTSENT* entry);
  FTSENT* ascend(FTSENT* entry);
  FTSENT* show(FTSENT* entry);
  void begin_top(FTSENT* top);
  void follow(FTSENT* entry);

  FTSENT* build(Purpose purpose);
  bool add_child(Build& build, const struct dirent& found);
  unsigned short classify(FTSENT* entry, bool follow_link) const;
  FTSENT* sort(FTSENT* list, std::size_t count);

  static std::size_t path_end(const FTSENT& entry);
  bool go_to(int fd) const;
  bool go_into(const FTSENT* directory, int fd, const char* path) const;
  bool leave(const FTSENT* directory) const;  // to where its parent is
  FTSENT* stop();

  bool has(int option) const { return (fts_.fts_options & option) != 0; }

  FTS fts_;
  FTSENT* last_parent_;  // the parent of the tops
};

}  // namespace zazen
