// A child's view of descriptors and names that it got from its parent.
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "kernel.h"

namespace exerciser {
namespace {

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (long got; (got = kernel::read(fd, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

// The child writes in its own copy of the journal and sends what it added.
void Actor::fork_one() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  long how = random(2);
  pid_t pid = how == 0 ? fork() : _Fork();
  if (pid == 0) {
    std::size_t before = journal_.length();
    if (Slot* slot = any_slot(false); slot != nullptr) note_slot(*slot), note_fd(*slot);
    Name name = frame_name(chance(50), Spelling::kAny);
    note_name(name);
    int fd = openat(name.dirfd, name.path.c_str(), O_RDONLY);
    note_number(fd);
    if (fd >= 0) note_fd({.fd = fd, .name = name});
    std::string added = journal_.since(before);
    kernel::write(ends[1], added.data(), added.size());
    _exit(0);
  }
  close(ends[1]);
  journal_.add("%s", read_all(ends[0]).c_str());
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  journal_.add(" status %d", status);
}

// cat, with a frame as its standard input or as its argument.
void Actor::spawn_one() {
  Name name = frame_name(chance(50), Spelling::kPath);
  note_name(name);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  bool as_input = chance(50);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (as_input) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name.path.c_str(), O_RDONLY, 0);
  }
  char cat[] = "cat", dash[] = "-";
  char* arguments[] = {cat, as_input ? dash : name.path.data(), nullptr};
  pid_t pid = 0;
  int failed = posix_spawnp(&pid, "cat", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  journal_.add(" spawned %d", failed);
  std::string bytes = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  if (failed == 0) waitpid(pid, &status, 0);
  journal_.add(" status %d %zu bytes", status, bytes.size());
  journal_.data(bytes.data(), static_cast<long>(bytes.size()));
}

void Actor::change_directory() {
  int next = static_cast<int>(random(3));
  long how = random(3);
  journal_.add(" %d %ld", next, how);
  if (how == 0) {
    journal_.result(fchdir(next == 0 ? root_fd_ : next == 1 ? shared_fd_ : own_fd_));
  } else {
    std::string path = next == 0 ? root_ : spell(next == 2, ".", -1, Spelling::kPath).path;
    journal_.result(chdir(path.c_str()));
  }
  cwd_ = next;
  char path[4096];
  journal_.add(" '%s'", getcwd(path, sizeof path));
}

}  // namespace exerciser
