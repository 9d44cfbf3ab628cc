// The C API's border: no exception crosses it.
#include "bodhi/bodhi.h"

#include <cstdlib>
#include <exception>

#include "bodhi/bodhi_handle.h"
#include "bodhi/config.h"
#include "bodhi/runtime_line.h"

#define BODHI_API extern "C" __attribute__((visibility("default")))

namespace {

thread_local std::string error_text;

bodhi* refuse(std::string text) {
  error_text = std::move(text);
  return nullptr;
}

bodhi* open_runtime(std::string runtime) {
  while (runtime.size() > 1 && runtime.back() == '/') runtime.pop_back();
  if (!runtime.starts_with('/'))
    return refuse("'" + runtime + "': a runtime directory has an absolute path");
  return new bodhi{std::move(runtime)};
}

}  // namespace

BODHI_API bodhi* bodhi_open(const char* config) try {
  const char* named = ::secure_getenv("ZAZEN_RUNTIME");
  if (config == nullptr && named != nullptr && *named != '\0') return open_runtime(named);
  std::optional<std::string> asked_for;
  if (config != nullptr) asked_for = config;
  zazen::Result<std::string> file = zazen::find_config(asked_for);
  if (!file) return refuse(file.error().context);
  char runtime[zazen::kMaxPath];
  if (zazen::scan_runtime_file(file->c_str(), runtime, sizeof runtime) == 0)
    return refuse(*file + ": no line  runtime = \"DIR\"  can be read there");
  return open_runtime(runtime);
} catch (const std::exception& error) {
  return refuse(error.what());
}

BODHI_API void bodhi_close(bodhi* handle) {
  delete handle;
}

BODHI_API const char* bodhi_error(void) {
  return error_text.c_str();
}
