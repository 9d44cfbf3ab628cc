// MPICH does not export its PMI functions, so this speaks PMI-1 on the socket that hydra gives
// each rank: one line in each direction. MPICH makes no call meanwhile, because this code runs
// in the caller of MPI_Init. hydra clears its store at the first init of a node, so an init
// precedes the put; MPICH later sends its own, which hydra allows. Slurm's pmi2 has the same
// socket and does not answer a second init; so the code first checks that hydra is at the other
// end.
//
// The wait for an answer has no limit, as in MPICH: MPICH would take a late answer for the
// answer to its own question. A launcher that ends closes the socket.
#include "coord/mpi/presence.h"

#include <mpi.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

namespace zazen {
namespace {

constexpr std::size_t kLongestAnswer = 4096;

int launcher = -1;      // PMI_FD, MPICH's own; never closed here
std::string key_space;  // of this MPI_COMM_WORLD; "" unless announced

// The other end of the socket is the process that created it.
bool is_hydra(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
    return false;
  std::string name;
  std::ifstream file("/proc/" + std::to_string(peer.pid) + "/comm");
  return std::getline(file, name) && name == "hydra_pmi_proxy";
}

bool send_line(const std::string& line) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = ::send(launcher, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  return true;
}

// The answer to one command; no value if the launcher is gone.
std::optional<std::string> ask(const std::string& command) {
  if (!send_line(command + '\n')) return std::nullopt;
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    char bytes[512];
    const ssize_t n = ::recv(launcher, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EINTR) || answer.size() > kLongestAnswer)
      return std::nullopt;
    if (n > 0) answer.append(bytes, static_cast<std::size_t>(n));
  }
  answer.pop_back();
  return answer;
}

// From "cmd=get_result rc=0 msg=success" the value of "rc"; "" if it has none.
std::string field(const std::string& answer, const std::string& name) {
  const std::size_t at = (' ' + answer).find(' ' + name + '=');
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return answer.substr(begin, answer.find(' ', begin) - begin);
}

bool succeeds(const std::string& command) {
  const std::optional<std::string> answer = ask(command);
  return answer && field(*answer, "rc") == "0";
}

std::optional<int> number_in(const char* variable) {
  const char* text = ::secure_getenv(variable);
  if (text == nullptr) return std::nullopt;
  int number = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

// After ranks have communicated over TCP, MPI_Finalize of Debian 12's MPICH (4.0.2, UCX 1.13.1)
// hangs in most runs, with or without the plug-in. A program whose ranks never communicate
// would hang only because of the plug-in.
bool talks_by_ucx() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  return PMPI_Get_library_version(text, &length) == MPI_SUCCESS &&
         std::strstr(text, "ch4:ucx") != nullptr;
}

// By hydra's "(vector,(FIRST,HOSTS,RANKS),...)", the same for every rank.
bool are_on_one_host() {
  const std::optional<std::string> answer =
      ask("cmd=get kvsname=" + key_space + " key=PMI_process_mapping");
  if (!answer) return false;
  const std::string mapping = field(*answer, "value");
  bool known = false;
  for (std::size_t at = 0; (at = mapping.find(",(", at)) != std::string::npos; ++at) {
    known = true;
    if (mapping.compare(at, 6, ",(0,1,") != 0) return false;
  }
  return known;
}

std::string key_of(int rank) {
  return "key=zazen-presence-" ZAZEN_MESSAGES "-" + std::to_string(rank);
}

}  // namespace

bool announce_presence() {
  const std::optional<int> fd = number_in("PMI_FD"), rank = number_in("PMI_RANK");
  if (!fd || !rank || !is_hydra(*fd)) return false;
  launcher = *fd;
  if (!succeeds("cmd=init pmi_version=1 pmi_subversion=1")) return false;
  const std::optional<std::string> name = ask("cmd=get_my_kvsname");
  if (!name) return false;
  const std::string space = field(*name, "kvsname");
  if (space.empty() || !succeeds("cmd=put kvsname=" + space + ' ' + key_of(*rank) + " value=1"))
    return false;
  key_space = space;
  return true;
}

Obstacle find_obstacle(int ranks) {
  if (ranks == 1) return {};
  if (key_space.empty()) return {kNoStore, true};
  const Obstacle missing = look_for_all(ranks, [](int rank) {
    return succeeds("cmd=get kvsname=" + key_space + ' ' + key_of(rank));
  });
  if (missing.what != nullptr) return missing;
  if (talks_by_ucx() && !are_on_one_host())
    return {"MPICH over UCX may not end once ranks of several hosts have talked", true};
  return {};
}

}  // namespace zazen
