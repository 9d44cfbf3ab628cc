// It really loads the shim and the plug-ins, in children: a crash there must not end doctor.
#include "tools/doctor/shim_check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/system/raw_call.h"
#include "coord/plugin.h"
#include "tools/support/shim_environment.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

// The output of a child that runs `body`, on both streams; `body` ends the child.
template <class Body>
std::string output_of_child(Body body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t got; child > 0 && (got = ::read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return output;
}

// The first line, or the meaning of no output.
std::string complaint_in(const std::string& output) {
  return output.empty() ? "it crashes what loads it" : output.substr(0, output.find('\n'));
}

bool check_that_it_loads(const std::string& shim, Findings& findings) {
  Environment environment;
  if (Status added = add_preloads({shim}, environment); !added) {
    findings.fail("shim", added.error().context, added.error().hint);
    return false;
  }
  std::string maps = output_of_child([&] {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execl("/bin/cat", "cat", "/proc/self/maps", static_cast<char*>(nullptr));
  });
  std::error_code ignored;
  std::string real = fs::canonical(shim, ignored).string();
  bool loads = !real.empty() && maps.find(" " + real + "\n") != std::string::npos;
  if (loads) {
    findings.ok("shim", shim + ": loads into /bin/cat");
  } else {
    findings.fail("shim", shim + ": does not load into /bin/cat: " + complaint_in(maps),
                  "is it built for this machine?");
  }
  return loads;
}

constexpr char kGood[] = "good";

// Prints the error, or that there is none.
void try_plugin(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* complaint = "another version than the shim's";
  if (handle == nullptr) {
    complaint = ::dlerror();
  } else if (auto entry = reinterpret_cast<PluginEntry>(::dlsym(handle, kPluginSymbol))) {
    const Plugin* plugin = entry();
    if (plugin != nullptr && plugin->version == kPluginVersion) complaint = kGood;
  }
  raw_write_all(STDOUT_FILENO, complaint, std::strlen(complaint));
  ::_exit(0);
}

struct PluginState {
  const char* file;
  const char* mpi;
  const char* library;    // of that MPI
  std::string path;       // "" if it is not there
  std::string complaint;  // "" if it loads

  bool loads() const { return !path.empty() && complaint.empty(); }
};

// A node need not have every MPI: one plug-in that loads is enough. If the MPI of another one
// is not installed, only that is reported.
void check_plugins(const std::string& shim, Findings& findings) {
  PluginState plugins[] = {{kOpenMpiPlugin, "Open MPI 4", "libmpi.so.40", "", ""},
                           {kMpichPlugin, "MPICH", "libmpich.so.12", "", ""}};
  bool any = false;
  for (PluginState& plugin : plugins) {
    plugin.path = find_plugin(shim, plugin.file);
    if (plugin.path.empty()) continue;
    std::string output = output_of_child([&] { try_plugin(plugin.path); });
    if (output != kGood) plugin.complaint = complaint_in(output);
    any = any || plugin.loads();
  }
  for (const PluginState& plugin : plugins) {
    const bool has_mpi = plugin.complaint.find(plugin.library) == std::string::npos;
    if (plugin.loads()) {
      findings.ok("plug-in", plugin.path + ": loads");
    } else if (!plugin.path.empty() && any && !has_mpi) {
      findings.ok("plug-in", plugin.path + ": not of use here, there is no " + plugin.mpi);
    } else if (!plugin.path.empty()) {
      findings.warn(
          "plug-in", plugin.path + ": " + plugin.complaint,
          std::string(plugin.mpi) + " must be installed where its programs are to be filtered");
    } else if (any) {
      findings.ok("plug-in", std::string(plugin.file) +
                                 ": not installed; the frames are not "
                                 "divided among ranks of " +
                                 plugin.mpi);
    } else {
      findings.warn("plug-in", std::string(plugin.file) + ": not beside the shim",
                    "without it the frames are not divided among MPI ranks; opens are cached");
    }
  }
}

void check_preload_word(const std::string& word, const std::string& shim, Findings& findings) {
  std::error_code ignored;
  if (word.find('/') != std::string::npos && ::access(word.c_str(), R_OK) != 0) {
    findings.warn("LD_PRELOAD", word + ": " + std::strerror(errno) + "; the loader ignores it",
                  "unset LD_PRELOAD, or correct it");
  } else if (fs::path(word).filename() == "libzazen.so" && !shim.empty() &&
             !fs::equivalent(word, shim, ignored)) {
    findings.warn("LD_PRELOAD", word + ": another libzazen.so than zazenctl's, " + shim,
                  "two shims in one program, or a stale one: unset LD_PRELOAD");
  }
}

}  // namespace

std::string find_plugin(const std::string& shim, const std::string& file) {
  std::string directory = fs::path(shim).parent_path().string();
  for (const char* place : {"/", "/../coord/"}) {
    std::string plugin = directory + place + file;
    if (::access(plugin.c_str(), R_OK) == 0)
      return fs::path(plugin).lexically_normal().string();
  }
  return "";
}

bool check_shim(Findings& findings) {
  Result<std::string> shim = find_shim();
  if (!shim) {
    findings.fail("shim", shim.error().context, shim.error().hint);
    return false;
  }
  bool loads = check_that_it_loads(*shim, findings);
  check_plugins(*shim, findings);
  return loads;
}

void check_environment(Findings& findings) {
  int before = findings.warnings();
  Result<std::string> shim = find_shim();
  std::string preload = variable("LD_PRELOAD");
  for (std::size_t begin = 0; begin < preload.size();) {
    std::size_t end = preload.find_first_of(" :", begin);
    if (end == std::string::npos) end = preload.size();
    if (end > begin) {
      check_preload_word(preload.substr(begin, end - begin), shim ? *shim : "", findings);
    }
    begin = end + 1;
  }
  for (const MisspeltVariable& each : misspelt_variables()) {
    findings.warn("environment", each.name + ": unknown variable, without effect",
                  "did you mean " + each.likely + "?");
  }
  for (const WrongValue& each : wrong_values()) {
    findings.warn("environment",
                  each.name + "=" + each.value + ": not a value of this variable",
                  "it may be " + each.accepted);
  }
  if (shim_is_disabled()) {
    findings.warn("environment", "ZAZEN_DISABLE is set: the shim does nothing",
                  "unset ZAZEN_DISABLE");
  }
  std::string runtime = variable("ZAZEN_RUNTIME");
  if (!runtime.empty() && runtime[0] != '/') {
    findings.warn("environment", "ZAZEN_RUNTIME=" + runtime + ": the shim ignores it",
                  "it must be an absolute path");
  }
  std::string inherited = variable(kViewVariable);
  const View* view = nullptr;
  Tally* tally = nullptr;
  if (!inherited.empty() && !map_view(inherited.c_str(), &view, &tally)) {
    findings.warn("environment", "ZAZEN_VIEW=" + inherited + ": no view of a rank that runs",
                  "unset ZAZEN_VIEW");
  }
  if (view != nullptr) unmap_view(view, tally);
  if (findings.warnings() == before) findings.ok("environment", "nothing that would mislead");
}

}  // namespace zazen
