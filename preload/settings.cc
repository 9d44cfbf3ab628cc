#include "preload/settings.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "bodhi/runtime_line.h"
#include "bodhi/view.h"
#include "preload/raw.h"

namespace zazen {

constinit Settings settings;

namespace {

// A value that is empty or too long is taken as not set.
bool copy_variable(const char* name, char (&out)[kMaxPath]) {
  const char* value = ::secure_getenv(name);
  if (value == nullptr) return false;
  std::size_t length = std::strlen(value);
  if (length == 0 || length >= sizeof out) return false;
  std::memcpy(out, value, length + 1);
  return true;
}

// A relative name means one in the directory where the program was started.
bool copy_file_variable(const char* name, char (&out)[kMaxPath]) {
  if (!copy_variable(name, out)) return false;
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

bool is_disabled() {
  const char* value = ::secure_getenv("ZAZEN_DISABLE");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

LogLevel log_level() {
  const char* value = ::secure_getenv("ZAZEN_LOG");
  if (value == nullptr) return LogLevel::kOff;
  if (std::strcmp(value, "warn") == 0) return LogLevel::kWarn;
  if (std::strcmp(value, "info") == 0) return LogLevel::kInfo;
  if (std::strcmp(value, "debug") == 0) return LogLevel::kDebug;
  return LogLevel::kOff;
}

// A relative runtime directory would mean another one after the next chdir.
void find_runtime() {
  char config[kMaxPath];
  bool named = copy_variable("ZAZEN_RUNTIME", settings.runtime);
  bool has_config = copy_variable("ZAZEN_CONFIG", config);
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

void read_settings() {
  if (::getauxval(AT_SECURE) != 0 || is_disabled()) return;
  settings.pid = static_cast<pid_t>(raw_call(SYS_getpid));
  settings.log_level = log_level();
  if (settings.log_level != LogLevel::kOff) settings.first_stderr.remember();
  copy_file_variable("ZAZEN_LOG_FILE", settings.log_file);
  find_runtime();
  copy_variable(kViewVariable, settings.inherited_view);
  settings.active = settings.configured || settings.inherited_view[0] != '\0';
  if (settings.active && copy_file_variable("ZAZEN_REPORT", settings.report)) {
    settings.ledger = make_ledger();
  }
}

}  // namespace zazen
