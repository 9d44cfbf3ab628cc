// A seeded random exerciser of the calls that programs make on files.
//
//   exerciser ROOT JOURNALS SEED OPERATIONS EVERY [WITHOUT...]
//
// ROOT has the directories `shared` and `own0` to `own6`, and `link-` names for them. Four
// forked children and a process with three threads do OPERATIONS in all. Each writes what it
// did and saw to a journal below JOURNALS; the driver, exerciser.py, compares the journals of
// a run with the shim with those of one without. After each EVERY operations the first actor
// says so on standard output and waits for a line: that is when the driver kills daemons.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "actor.h"
#include "kernel.h"

namespace exerciser {

const Operation kOperations[] = {
    {"open", 30, false, false, &Actor::open_one},
    {"fopen", 8, false, false, &Actor::open_stream},
    {"freopen", 3, false, false, &Actor::reopen_stream},
    {"reopen", 3, false, false, &Actor::reopen},
    {"close", 12, false, false, &Actor::close_one},
    {"read", 16, false, false, &Actor::read_some},
    {"lseek", 6, false, false, &Actor::seek},
    {"mmap", 4, false, false, &Actor::map},
    {"dup", 5, false, false, &Actor::duplicate},
    {"stream", 10, false, false, &Actor::use_stream},
    {"stat", 16, false, false, &Actor::stat_path},
    {"fstat", 10, false, false, &Actor::stat_fd},
    {"access", 5, false, false, &Actor::ask_access},
    {"readlink", 4, false, false, &Actor::ask_link},
    {"realpath", 4, false, false, &Actor::ask_real_path},
    {"xattr", 4, false, false, &Actor::ask_attributes},
    {"statfs", 2, false, false, &Actor::ask_file_system},
    {"readdir", 3, false, false, &Actor::list},
    {"getdents", 2, false, false, &Actor::list_by_call},
    {"seekdir", 1, false, false, &Actor::seek_directory},
    {"scandir", 2, false, false, &Actor::scan},
    {"glob", 2, false, false, &Actor::glob_names},
    {"nftw", 1, false, false, &Actor::walk_nftw},
    {"fts", 1, false, false, &Actor::walk_fts},
    {"open_only", 8, false, false, &Actor::open_only},
    {"store", 4, true, false, &Actor::store_one},
    {"write_in_child", 2, true, true, &Actor::write_in_child},
    {"write", 5, true, false, &Actor::write_some},
    {"truncate", 2, true, false, &Actor::cut},
    {"ftruncate", 1, true, false, &Actor::cut_open},
    {"unlink", 4, true, false, &Actor::remove_and_make},
    {"rename", 4, true, false, &Actor::rename_one},
    {"link", 1, true, false, &Actor::link_one},
    {"linkfd", 1, true, false, &Actor::link_open},
    {"chmod", 2, true, false, &Actor::change_mode},
    {"fchmod", 1, true, false, &Actor::change_mode_open},
    {"utimensat", 4, true, false, &Actor::change_times},
    {"futimens", 1, true, false, &Actor::change_times_open},
    {"pass", 2, false, false, &Actor::pass},
    {"fork", 1, false, true, &Actor::fork_one},
    {"spawn", 1, false, true, &Actor::spawn_one},
    {"chdir", 3, false, true, &Actor::change_directory},
};
const int kOperationCount = sizeof kOperations / sizeof kOperations[0];

namespace {

constexpr int kProcesses = 4, kThreads = 3, kActors = kProcesses + kThreads;
constexpr int kJournalNumber = 800;  // and following: out of the way of the operations

long every;

// The first actor's turn: the others go on meanwhile.
void tell_driver(long done) {
  if (every == 0 || done % every != 0) return;
  char line[32];
  int length = snprintf(line, sizeof line, "%ld\n", done);
  kernel::write(STDOUT_FILENO, line, static_cast<unsigned long>(length));
  char byte = 0;
  while (byte != '\n' && kernel::read(STDIN_FILENO, &byte, 1) == 1) {
  }
}

struct Run {
  std::string root, journals;
  std::uint64_t seed;
  long operations;  // of each actor
  std::vector<std::string> without;

  void act(int number, bool threaded) const {
    std::string path = journals + "/" + std::to_string(number);
    long fd = kernel::call(SYS_openat, AT_FDCWD, kernel::as_long(path.c_str()),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int kept = kJournalNumber + number;
    if (fd < 0 || kernel::call(SYS_dup3, fd, kept, O_CLOEXEC) != kept) abort();
    kernel::call(SYS_close, fd);
    Actor actor(number, threaded, seed, root, kept);
    actor.run(operations, without, number == 0 ? tell_driver : nullptr);
  }

  void act_in_threads() const {
    std::vector<std::thread> threads;
    for (int i = kProcesses; i < kActors; ++i) {
      threads.emplace_back([this, i] { act(i, true); });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace
}  // namespace exerciser

int main(int argc, char** argv) {
  using namespace exerciser;
  if (argc < 6) return 2;
  Run run{argv[1], argv[2], strtoull(argv[3], nullptr, 10), atol(argv[4]) / kActors,
          std::vector<std::string>(argv + 6, argv + argc)};
  every = atol(argv[5]);
  if (chdir(argv[1]) != 0) return 2;
  umask(022);
  pid_t children[kProcesses + 1];
  for (int i = 0; i <= kProcesses; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    if (i < kProcesses) {
      run.act(i, false);
    } else {
      run.act_in_threads();
    }
    exit(0);
  }
  int failed = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fprintf(stderr, "a child ended with status %d\n", status), failed = 1;
  }
  return failed;
}
