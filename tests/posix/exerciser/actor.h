// Actor: one thread, or one forked process, that does operations at random.
//
// Each actor has a directory of frames of its own, which it may change, and reads the shared
// one, which nobody changes: so what comes of an operation depends on the seed alone. A
// descriptor is kept in a slot with what it was opened on. A hit is a descriptor of the copy
// (D1): what is written to the frame later does not reach it, as frames are written once.
// Hence the two marks: once the frame's name means another file, or its mode or times were
// changed, the slot is `severed` (the bytes must still be right, the identity is not
// compared); once its bytes were changed in place it is `spent` and is only closed.
#pragma once
#include <fcntl.h>
#include <stdio.h>

#include <random>
#include <string>
#include <vector>

#include "journal.h"

namespace exerciser {

inline constexpr int kSharedFrames = 24;
inline constexpr int kOwnFrames = 12;
inline constexpr int kMaxBytes = 70'000;

struct Name {  // of a frame, or of what merely looks like one
  bool own = false;
  int frame = -1;  // -1: no frame that a slot could be open on
  int dirfd = AT_FDCWD;
  std::string path;    // as the program spells it
  std::string origin;  // absolute
};

struct Slot {
  int fd = -1;
  FILE* stream = nullptr;
  int flags = 0;
  Name name;
  bool severed = false;
  bool spent = false;
  long opened_at = 0;

  bool writes() const { return (flags & O_ACCMODE) != O_RDONLY; }
  bool is_path() const { return (flags & O_PATH) != 0; }
};

class Actor {
 public:
  Actor(int number, bool threaded, std::uint64_t seed, std::string root, int journal_fd);

  // `without` names operations, and features that several of them have: "changes",
  // "syscall" (through libc's function of that name), "procfd" (stat of /proc/self/fd/N),
  // "nlink". `turn` is called after each operation with the number of those done.
  void run(long operations, const std::vector<std::string>& without, void (*turn)(long));

  // The families of operations, each in a file of its own.
  void open_one();
  void open_stream();
  void reopen_stream();
  void reopen();
  void close_one();
  void read_some();
  void seek();
  void map();
  void duplicate();
  void use_stream();
  void stat_path();
  void stat_fd();
  void ask_access();
  void ask_link();
  void ask_real_path();
  void ask_attributes();
  void ask_file_system();
  void list();
  void list_by_call();
  void seek_directory();
  void scan();
  void glob_names();
  void walk_nftw();
  void walk_fts();
  void open_only();
  void store_one();
  void write_in_child();
  void write_some();
  void cut();
  void cut_open();
  void remove_and_make();
  void rename_one();
  void link_one();
  void link_open();
  void change_mode();
  void change_mode_open();
  void change_times();
  void change_times_open();
  void pass();
  void fork_one();
  void spawn_one();
  void change_directory();

 private:
  long random(long below) {
    return static_cast<long>(generator_() % static_cast<unsigned long>(below));
  }
  bool has(const char* feature) const;
  bool chance(int percent) { return random(100) < percent; }

  std::string directory(bool own) const { return root_ + (own ? own_ : "/shared"); }
  enum class Spelling { kAny, kPath };  // kPath: without a directory's descriptor
  Name any_name(Spelling spelling);     // of a frame or not
  Name frame_name(bool own, Spelling spelling);
  Name spell(bool own, const std::string& last, int frame, Spelling spelling);

  void make_room();  // for one more slot
  Slot* any_slot(bool streams);
  Slot* own_slot();
  Slot* writing_slot();
  void keep(int fd, FILE* stream, int flags, const Name& name);
  void close_slot(Slot& slot);
  void sever(int frame);  // an own frame's name or metadata changes
  void spend(int frame);  // its bytes change
  void close_writers(int frame);
  void follow(int from, int to);  // what was open as `from` is `to` now; -1: without a name
  void close_old_writers();

  void note_number(int fd);  // the number where it is determined, else "ok"
  void note_name(const Name& name);
  void note_slot(const Slot& slot);
  void note_relation(int result, const struct stat& hooked, const char* origin, bool follow);
  void note_fd(const Slot& slot);  // identity and bytes of an open descriptor
  void note_bytes(int fd);
  void note_own(int frame);  // what its name says and holds now
  void note_names(std::vector<std::string> names);
  std::string make_bytes(long count);

  int number_;
  bool threaded_;
  std::mt19937_64 generator_;
  std::string root_, own_;
  Journal journal_;
  int shared_fd_ = -1, own_fd_ = -1, root_fd_ = -1;
  int cwd_ = 0;  // 0 root, 1 shared, 2 own
  long count_ = 0;
  std::vector<std::string> without_;
  std::vector<Slot> slots_;
};

struct Operation {
  const char* name;
  int weight;
  bool changes;        // the dataset
  bool needs_process;  // of its own
  void (Actor::*run)();
};

extern const Operation kOperations[];
extern const int kOperationCount;

}  // namespace exerciser
