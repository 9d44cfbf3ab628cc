#include "tools/doctor/program_check.h"

#include <elf.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "bodhi/lean/system/raw_call.h"
#include "tools/doctor/mpi_library.h"
#include "tools/doctor/script_line.h"
#include "tools/doctor/shared_libraries.h"
#include "tools/support/shim_environment.h"

namespace zazen {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxScripts = 5;  // interpreters that are scripts; the kernel follows as many

bool can_run(const std::string& path) {
  struct stat st;
  return raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &st, 0) == 0 && S_ISREG(st.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// Finds a program as execvp does; "" if there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string list = variable("PATH");
  if (list.empty()) list = "/bin:/usr/bin";
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = std::min(list.find(':', begin), list.size());
    std::string directory = list.substr(begin, end - begin);
    std::string path = (directory.empty() ? "." : directory) + "/" + name;
    if (can_run(path)) return path;
    begin = end + 1;
  }
  return "";
}

std::string head_of(const std::string& path) {
  RawFd file(raw_open(path.c_str(), O_RDONLY | O_NONBLOCK));
  char buffer[kScriptHead];
  long got = file.valid() ? raw_read_at(file.get(), buffer, sizeof buffer, 0) : 0;
  return std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
}

// The loader ignores LD_PRELOAD where the kernel sets AT_SECURE: an exec that changes the
// identity. Bits that change nothing for this user, or that the mount forbids, do not count.
void check_privileges(const std::string& path, Findings& findings) {
  struct stat st;
  struct statvfs mount;
  if (raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &st, 0) != 0) return;
  bool forbidden = ::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0;
  bool setuid = (st.st_mode & S_ISUID) != 0;
  bool setgid = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
  bool changes = (setuid && st.st_uid != ::getuid()) || (setgid && st.st_gid != ::getgid());
  const char* hint = "run a copy without these bits: the loader ignores LD_PRELOAD here";
  if (changes && !forbidden) {
    findings.fail(
        "privileges",
        fmt::format("{}: set{}id, to another identity than yours", path, setuid ? "u" : "g"),
        hint);
  } else if (setuid || setgid) {
    findings.ok("privileges", path + ": setuid or setgid, without effect for you");
  }
  if (::getxattr(path.c_str(), "security.capability", nullptr, 0) <= 0) return;
  if (::getuid() != 0 && !forbidden) {
    findings.fail("privileges", path + ": has file capabilities", hint);
  } else {
    findings.ok("privileges", path + ": has file capabilities, without effect for you");
  }
}

bool check_machine(const std::string& path, const ElfFile& file, const std::string& shim,
                   Findings& findings) {
  Result<ElfFile> own = read_elf(shim.empty() ? "/proc/self/exe" : shim);
  if (own && file.is_64bit == own->is_64bit && file.machine == own->machine &&
      file.is_little_endian == own->is_little_endian) {
    return true;
  }
  findings.fail("machine",
                fmt::format("{}: {}; the shim is {}", path, machine_name(file),
                            own ? machine_name(*own) : "not there"),
                "the loader refuses the shim: use a build of the program for this machine");
  return false;
}

bool check_loader(const std::string& path, const ElfFile& file, Findings& findings) {
  const std::string& loader = file.interpreter;
  if (loader.empty()) {
    bool library = file.type == ET_DYN && !file.is_pie;
    findings.fail("linking",
                  path + (library ? ": a shared library, or static: no loader starts it"
                          : file.is_dynamic ? ": statically linked (static-pie)"
                                            : ": statically linked"),
                  "LD_PRELOAD cannot reach it: link it dynamically");
    return false;
  }
  if (loader.find("ld-musl") != std::string::npos) {
    findings.fail("linking", path + ": linked with musl (" + loader + ")",
                  "the shim is for glibc: use a build of the program for glibc");
    return false;
  }
  if (::access(loader.c_str(), X_OK) != 0) {
    findings.fail("linking",
                  fmt::format("{}: its loader {}: {}", path, loader, std::strerror(errno)),
                  "it cannot be started at all: install what it was built for");
    return false;
  }
  std::error_code ignored;
  Result<ElfFile> self = read_elf("/proc/self/exe");
  if (self && !fs::equivalent(loader, self->interpreter, ignored)) {
    findings.warn("linking", path + ": dynamic, with a C library of its own (" + loader + ")",
                  "try it: zazenctl run --verbose; a glibc older than 2.31 refuses the shim");
  } else {
    findings.ok("linking", path + ": dynamic");
  }
  return true;
}

// Programs that start others and are known to change the environment.
void check_launcher(const std::string& path, Findings& findings) {
  std::string name = fs::path(path).filename().string();
  for (const char* cleaner :
       {"sudo", "su", "doas", "pkexec", "runuser", "ssh", "systemd-run"}) {
    if (name != cleaner) continue;
    findings.warn("environment", path + ": gives what it starts an environment of its own",
                  "put zazenctl run behind it: " + name + " ... zazenctl run -- PROGRAM");
  }
  if (name == "env") {
    findings.warn("environment", path + ": with -i, what it starts has no LD_PRELOAD",
                  "put zazenctl run behind it: env -i zazenctl run -- PROGRAM");
  }
}

void check_binary(const std::string& path, const ElfFile& file, ProgramVerdict& verdict,
                  Findings& findings) {
  Result<std::string> found = find_shim();
  std::string shim = found ? *found : "";
  check_privileges(path, findings);
  check_launcher(path, findings);
  if (!check_machine(path, file, shim, findings)) return;
  if (file.type != ET_EXEC && file.type != ET_DYN) {
    findings.fail("linking", path + ": an object file or a core, not a program", "link it");
    return;
  }
  bool loaded = check_loader(path, file, findings);
  if (file.is_go) {
    findings.fail("run time", path + ": a Go program, which calls the kernel without libc",
                  "the shim does not see its files: nothing to be done yet");
  }
  if (!loaded) return;

  SharedLibraries libraries = libraries_of(path, file);
  for (const std::string& name : libraries.missing) {
    findings.warn("libraries", path + ": needs " + name + ", which is not found",
                  "set LD_LIBRARY_PATH, or load the module that has it");
  }
  for (const std::string& name : libraries.names) {
    if (!name.starts_with("libasan.so")) continue;
    findings.warn("libraries", path + ": built with AddressSanitizer, which wants to be first",
                  "set ASAN_OPTIONS=verify_asan_link_order=0");
  }
  verdict.mpi = check_mpi(path, libraries.names, shim, findings).name;
}

// The program that runs a script; "" if the examination ends here.
std::string follow_script(const std::string& path, const ScriptLine& script,
                          Findings& findings) {
  std::string next = script.interpreter;
  if (fs::path(next).filename() == "env") {
    EnvCommand command = parse_env_argument(script.argument);
    if (command.clears_environment) {
      findings.fail(
          "script", path + ": its #! line clears LD_PRELOAD: env " + script.argument,
          "start the interpreter yourself: zazenctl run -- " + command.program + " " + path);
      return "";
    }
    if (command.program.empty()) {
      findings.fail("script", path + ": its #! line names no program", "correct the line");
      return "";
    }
    next = find_program(command.program);
    if (next.empty()) {
      findings.fail("script",
                    fmt::format("{}: run by {}, which is not in PATH", path, command.program),
                    "install it, or set PATH");
      return "";
    }
  }
  findings.ok("script", path + ": a script, run by " + next);
  return next;
}

}  // namespace

ProgramVerdict check_program(const std::string& name, Findings& findings) {
  ProgramVerdict verdict;
  int before = findings.failures();
  std::string path = find_program(name);
  if (path.empty()) {
    findings.fail("program", name + ": not found in PATH", "name it with its directory");
    return verdict;
  }
  for (int scripts = 0; !path.empty(); ++scripts) {
    verdict.path = path;
    if (!can_run(path)) {
      struct stat st;
      long error = raw_call(SYS_newfstatat, AT_FDCWD, path.c_str(), &st, 0);
      findings.fail("program",
                    path + ": " +
                        (error != 0            ? std::strerror(static_cast<int>(-error))
                         : S_ISDIR(st.st_mode) ? "a directory"
                                               : "not executable"),
                    error == 0 && S_ISREG(st.st_mode) ? "chmod +x " + path : "check the name");
      return verdict;
    }
    if (std::optional<ScriptLine> script = parse_script_line(head_of(path))) {
      if (scripts == kMaxScripts) {
        findings.fail("script", path + ": scripts run by scripts, too many", "run one of them");
        return verdict;
      }
      path = follow_script(path, *script, findings);
      continue;
    }
    Result<ElfFile> file = read_elf(path);
    if (file) {
      check_binary(path, *file, verdict, findings);
      break;
    }
    if (file.error().code != ENOEXEC) {
      findings.fail("program", path + ": " + file.error().context, "install it anew");
      return verdict;
    }
    findings.warn("script",
                  path +
                      ": neither a program nor a script with a #! line; /bin/sh "
                      "is tried",
                  "give it a #! line");
    path = "/bin/sh";
  }
  verdict.reached = findings.failures() == before;
  return verdict;
}

}  // namespace zazen
