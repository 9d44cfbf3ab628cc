#include "daemon/pool/forker.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <system_error>

#include "bodhi/lean/requests/wire.h"
#include "daemon/link/link_codec.h"
#include "daemon/process/daemonize.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::size_t kMostGroups = 65'536;
constexpr std::size_t kLongestOrder = 64 + kMostGroups * sizeof(gid_t);
constexpr int kEnds = 2;

enum class ForkWhat : std::uint8_t { kStart, kKill, kWriteLog };
struct ForkOrder {
  ForkWhat what = ForkWhat::kStart;
  std::uint64_t id = 0;
  WorkerCredentials credentials;
  template <class A>
  void fields(A& a) {
    a(what, id, credentials.uid, credentials.gid, credentials.looks_up_groups,
      credentials.groups);
  }
};

bool look_up_groups(WorkerCredentials* credentials) {
  char buffer[16'384];
  passwd entry = {};
  passwd* found = nullptr;
  const int code = ::getpwuid_r(credentials->uid, &entry, buffer, sizeof buffer, &found);
  if (found == nullptr) {
    const bool has_no_account = code == 0 || code == ENOENT || code == ESRCH;
    return has_no_account && ::setgroups(0, nullptr) == 0;
  }
  credentials->gid = found->pw_gid;
  return ::initgroups(found->pw_name, found->pw_gid) == 0;
}

// Drops all capabilities except CAP_LEASE, if this process may have it.
bool keep_lease_capability() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  const std::uint32_t lease = data[0].permitted & (1U << CAP_LEASE);
  __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {};
  kept[0].permitted = kept[0].effective = lease;
  return ::syscall(SYS_capset, &header, kept) == 0;
}

bool become(WorkerCredentials credentials) {
  if (::geteuid() != 0) return credentials.uid == ::geteuid();
  if (credentials.uid != 0) {
    const bool has_groups =
        credentials.looks_up_groups
            ? look_up_groups(&credentials)
            : ::setgroups(credentials.groups.size(), credentials.groups.data()) == 0;
    if (!has_groups || ::prctl(PR_SET_KEEPCAPS, 1) != 0) return false;
    const auto [uid, gid] = std::pair(credentials.uid, credentials.gid);
    if (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0) return false;
    if (!keep_lease_capability()) return false;
    if (::geteuid() != uid || ::getuid() != uid || ::getegid() != gid) return false;
  }
  return true;
}

[[noreturn]] void run_worker(const Forker::Run& run, const WorkerCredentials& credentials,
                             UniqueFd receive, UniqueFd send, pid_t forker) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_UNBLOCK, &child_ended, nullptr);
  if (!become(credentials)) ::_exit(1);
  // These calls come last, because a change of the user clears their settings.
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != forker) ::_exit(1);
  ::prctl(PR_SET_NAME, "zazend-worker");
  run(std::move(receive), std::move(send));
  ::_exit(0);
}

struct Received {
  ForkOrder order;
  UniqueFd ends[kEnds];
};

// Nothing if zazend is gone. `bytes` has room for every order.
std::optional<Received> receive_order(int socket, std::string& bytes) {
  struct iovec part = {bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kEnds * sizeof(int))];
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  Received received;
  const std::string_view body(bytes.data(), static_cast<std::size_t>(size));
  if (!decode_link_body(body, &received.order)) return std::nullopt;
  const std::size_t count = received.order.what == ForkWhat::kStart      ? kEnds
                            : received.order.what == ForkWhat::kWriteLog ? 1
                                                                         : 0;
  if (count == 0) return received;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_len != CMSG_LEN(count * sizeof(int))) {
    return std::nullopt;
  }
  int fds[kEnds];
  std::memcpy(fds, CMSG_DATA(rights), count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) received.ends[i].reset(fds[i]);
  return received;
}

// 0 or an errno. It waits until the forker takes the order.
int send_order(int socket, ForkOrder order, std::span<const int> fds) {
  std::string body = encode_link_body(order);
  struct iovec part = {body.data(), body.size()};
  for (;;) {
    const int code = -send_once(socket, {&part, 1}, fds);
    if (code != EAGAIN) return code;
    struct pollfd room = {socket, POLLOUT, 0};
    ::poll(&room, 1, -1);
  }
}

struct Child {
  pid_t pid;
  uid_t uid;
};
using Children = std::map<std::uint64_t, Child>;  // by id; none of them has been reaped

// A killed worker does not end while a FUSE server of its user blocks it. At most this many
// workers of a user may exist.
constexpr std::ptrdiff_t kMostChildrenOfAUser = 32;

bool user_may_have_another(const Children& children, uid_t uid) {
  return std::ranges::count_if(children, [&](const auto& child) {
           return child.second.uid == uid;
         }) < kMostChildrenOfAUser;
}

// Waits for an order. Children that end meanwhile are reaped.
void wait_for_order(int socket, Children& children) {
  sigset_t others;  // those that zazend reads stay blocked
  ::sigprocmask(SIG_BLOCK, nullptr, &others);
  sigdelset(&others, SIGCHLD);
  struct pollfd order = {socket, POLLIN, 0};
  int ready;
  do {
    ready = ::ppoll(&order, 1, nullptr, &others);
    while (const pid_t ended = ::waitpid(-1, nullptr, WNOHANG)) {
      if (ended < 0) break;
      std::erase_if(children, [&](const auto& child) { return child.second.pid == ended; });
    }
  } while (ready < 0);
}

void kill_child(const Children& children, std::uint64_t id) {
  if (auto child = children.find(id); child != children.end())
    ::kill(child->second.pid, SIGKILL);
}

// SIGCHLD comes only while the forker waits for an order.
void expect_children_to_end() {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ended, nullptr);
  struct sigaction interrupt = {};
  interrupt.sa_handler = [](int) {};
  ::sigaction(SIGCHLD, &interrupt, nullptr);
}

[[noreturn]] void run_forker(UniqueFd socket, const Forker::Run& run) {
  const pid_t self = ::getpid();
  ::prctl(PR_SET_NAME, "zazend-forker");
  ::prctl(PR_SET_DUMPABLE, 0);
  expect_children_to_end();
  std::string bytes(kLongestOrder, '\0');
  Children children;
  for (;;) {
    wait_for_order(socket.get(), children);
    // A shortage of memory loses the order: the worker's ends of the link close.
    despite_shortage([&] {
      std::optional<Received> received = receive_order(socket.get(), bytes);
      if (!received) ::_exit(0);
      if (received->order.what == ForkWhat::kKill) {
        return kill_child(children, received->order.id);
      }
      if (received->order.what == ForkWhat::kWriteLog) {
        ::dup2(received->ends[0].get(), STDERR_FILENO);
        return;
      }
      const WorkerCredentials& credentials = received->order.credentials;
      const auto place = children.emplace(received->order.id, Child{0, credentials.uid}).first;
      errno = EAGAIN;
      const pid_t child = user_may_have_another(children, credentials.uid) ? ::fork() : -1;
      if (child == 0) {
        socket.reset();
        run_worker(run, credentials, std::move(received->ends[0]), std::move(received->ends[1]),
                   self);
      }
      place->second.pid = child;
      if (child > 0) return;
      children.erase(place);
      log_line(LogLevel::kError, "no_worker",
               {{"uid", std::to_string(credentials.uid)}, {"error", std::strerror(errno)}});
    });
  }
}

}  // namespace

Result<Forker> Forker::start(const Run& run, const std::string& log_file) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return last_error("socketpair");
  }
  UniqueFd ours(sockets[0]), theirs(sockets[1]);
  const pid_t zazend = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category());
  if (child == 0) {
    ours.reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != zazend) ::_exit(1);
    if (!log_file.empty()) write_to_log(log_file);
    run_forker(std::move(theirs), run);
  }
  return Forker(std::move(ours), child);
}

Forker::~Forker() {
  if (!socket_.valid()) return;
  socket_.reset();
  ::waitpid(pid_, nullptr, 0);
}

int Forker::start_worker(std::uint64_t id, const WorkerCredentials& credentials,
                         const UniqueFd& receive, const UniqueFd& send) const {
  const int fds[kEnds] = {receive.get(), send.get()};
  return send_order(socket_.get(), {ForkWhat::kStart, id, credentials}, fds);
}

void Forker::kill_worker(std::uint64_t id) const {
  send_order(socket_.get(), {ForkWhat::kKill, id, {}}, {});
}

void Forker::write_log_to(const UniqueFd& log) const {
  const int fd = log.get();
  send_order(socket_.get(), {ForkWhat::kWriteLog, 0, {}}, {&fd, 1});
}

}  // namespace zazen
