#include "preload/process/settings.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/system/runtime_line.h"
#include "bodhi/lean/system/variables.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/current_run.h"
#include "preload/process/log.h"

namespace zazen {

ZAZEN_BEGINNING_USED constinit Settings settings;

namespace {

constexpr char kOurs[] = "ZAZEN_";

bool begins_with(const char* text, const char* prefix) {
  while (*prefix != '\0' && *text == *prefix) ++text, ++prefix;
  return *prefix == '\0';
}

// The environment from the first ZAZEN_ variable on.
class Variables {
 public:
  explicit Variables(const char* const* environment) {
    while (environment != nullptr && *environment != nullptr &&
           !begins_with(*environment, kOurs)) {
      ++environment;
    }
    first_ = environment;
  }
  bool empty() const { return first_ == nullptr || *first_ == nullptr; }

  // As getenv, which would cost a page of libc that no other start needs.
  const char* find(const char* name) const {
    std::size_t length = std::strlen(name);
    for (const char* const* at = first_; *at != nullptr; ++at) {
      if (begins_with(*at, name) && (*at)[length] == '=') return *at + length + 1;
    }
    return nullptr;
  }

 private:
  const char* const* first_;
};

// A value that is empty or too long counts as not set.
template <std::size_t kSize>
bool copy_variable(const Variables& variables, const char* name, char (&out)[kSize]) {
  const char* value = variables.find(name);
  if (value == nullptr) return false;
  std::size_t length = std::strlen(value);
  if (length == 0 || length >= sizeof out) return false;
  std::memcpy(out, value, length + 1);
  return true;
}

// A relative name is relative to the directory where the program was started.
bool copy_file_variable(const Variables& variables, const char* name, char (&out)[kMaxPath]) {
  if (!copy_variable(variables, name, out)) return false;
  if (out[0] == '/') return true;
  char directory[kMaxPath];
  if (raw_call(SYS_getcwd, directory, sizeof directory) <= 0) return true;
  std::size_t prefix = std::strlen(directory), length = std::strlen(out);
  if (prefix + 1 + length >= sizeof out) return true;
  std::memmove(out + prefix + 1, out, length + 1);
  std::memcpy(out, directory, prefix);
  out[prefix] = '/';
  return true;
}

// Any value disables the shim, even an invalid one. An invalid one is reported once, as other
// invalid values.
bool is_disabled(const Variables& variables, const char* const* environment) {
  const char* value = variables.find("ZAZEN_DISABLE");
  if (value == nullptr || *value == '\0' || std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  if (launcher_place(environment).speaks()) {
    say_line("ZAZEN_DISABLE=%.100s: taken for 1; it may be 0 or 1", value);
  }
  std::memcpy(const_cast<char*>(value), "1", 2);
  return true;
}

// A new process may change the strings of its environment.
void forget(const char* value) {
  if (value != nullptr) *const_cast<char*>(value) = '\0';
}

void tell_of_wrong_values(const Variables& variables) {
  bool selection_is_wrong = false;
  check_variables([&](const char* name) { return variables.find(name); },
                  [&](const KnownVariable& variable, const char* value, const char* accepted) {
                    const bool selects = selects_frames(variable);
                    if (settings.place.speaks()) {
                      say_line("%s=%.100s: ignored%s; it may be %s", variable.name, value,
                               selects ? ", all frames are selected" : "", accepted);
                    }
                    if (selects) {
                      selection_is_wrong = true;
                    } else {
                      forget(value);
                    }
                  });
  if (!selection_is_wrong) return;
  for (const KnownVariable& variable : kVariables) {
    if (selects_frames(variable)) forget(variables.find(variable.name));
  }
}

LogLevel log_level(const Variables& variables) {
  const char* value = variables.find("ZAZEN_LOG");
  if (value == nullptr) return LogLevel::kOff;
  if (std::strcmp(value, "warn") == 0) return LogLevel::kWarn;
  if (std::strcmp(value, "info") == 0) return LogLevel::kInfo;
  if (std::strcmp(value, "debug") == 0) return LogLevel::kDebug;
  return LogLevel::kOff;
}

// A relative runtime directory would change its meaning with the next chdir.
void find_runtime(const Variables& variables) {
  char config[kMaxPath];
  bool named = copy_variable(variables, "ZAZEN_RUNTIME", settings.runtime);
  bool has_config = copy_variable(variables, "ZAZEN_CONFIG", config);
  settings.configured = named || has_config;
  if (!named && has_config &&
      scan_runtime_file(config, settings.runtime, sizeof settings.runtime) == 0) {
    settings.runtime[0] = '\0';
  }
  std::size_t length = std::strlen(settings.runtime);
  while (length > 1 && settings.runtime[length - 1] == '/') settings.runtime[--length] = '\0';
  if (settings.runtime[0] != '/') settings.runtime[0] = '\0';
}

}  // namespace

void read_settings(const char* const* environment) {
  Variables variables(environment);
  if (variables.empty() || ::getauxval(AT_SECURE) != 0) return;
  settings.first_stderr.remember();
  if (is_disabled(variables, environment)) return;
  find_runtime(variables);
  settings.filter = filter_wish(variables.find("ZAZEN_FILTER"));
  copy_variable(variables, kViewVariable, settings.inherited_view);
  settings.active = settings.configured || settings.inherited_view[0] != '\0' ||
                    settings.filter == FilterWish::kRequire;
  if (settings.active) {
    settings.place = launcher_place(environment);
    tell_of_wrong_values(variables);
    copy_variable(variables, kDivisionVariable, settings.division);
    copy_variable(variables, "ZAZEN_DATASETS", settings.datasets);
  }
  settings.log_level = log_level(variables);
  copy_file_variable(variables, "ZAZEN_LOG_FILE", settings.log_file);
  if (!settings.active) return;
  const char* run = variables.find(kRunVariable);
  if (run != nullptr && read_run_place(run, &settings.run)) begin_run();
  if (copy_file_variable(variables, "ZAZEN_REPORT", settings.report)) {
    settings.ledger = ledger_of_report();
  }
  if (settings.ledger != nullptr || settings.log_level != LogLevel::kOff) {
    settings.pid = static_cast<pid_t>(raw_call(SYS_getpid));
  }
}

}  // namespace zazen
