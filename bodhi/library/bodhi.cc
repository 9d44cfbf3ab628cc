// The handle of the C API: open, close, error.
#include "bodhi/bodhi.h"

#include <cstdlib>
#include <optional>

#include "bodhi/config/config.h"
#include "bodhi/lean/system/runtime_line.h"
#include "bodhi/library/api_border.h"
#include "bodhi/library/frame_reader.h"
#include "bodhi/writer/writer.h"

namespace {

constexpr int kCloseMs = 10'000;

bodhi* fail(const std::string& text) {
  zazen::refuse(EINVAL, text);
  return nullptr;
}

bodhi* open_runtime(std::string runtime, const std::string& config) {
  while (runtime.size() > 1 && runtime.back() == '/') runtime.pop_back();
  if (!runtime.starts_with('/'))
    return fail("'" + runtime + "': a runtime directory has an absolute path");
  auto handle = std::make_unique<bodhi>();
  handle->runtime = runtime;
  handle->config = config;
  handle->owner = ::getpid();
  handle->reader = std::make_shared<zazen::FrameReader>(runtime, config);
  return handle.release();
}

bodhi* open_handle(const char* config) {
  std::optional<std::string> asked_for;
  if (config != nullptr) asked_for = config;
  zazen::Result<std::string> file = zazen::find_config(asked_for);
  const char* named = ::secure_getenv("ZAZEN_RUNTIME");
  if (config == nullptr && named != nullptr && *named != '\0') {
    bool readable = file && ::access(file->c_str(), R_OK) == 0;
    return open_runtime(named, readable ? *file : "");
  }
  if (!file) return fail(file.error().context);
  char runtime[zazen::kMaxPath];
  if (zazen::scan_runtime_file(file->c_str(), runtime, sizeof runtime) == 0)
    return fail(*file + ": no line  runtime = \"DIR\"  can be read there");
  return open_runtime(runtime, *file);
}

}  // namespace

std::string& zazen::api_error_text() {
  thread_local std::string text;
  return text;
}

BODHI_API bodhi* bodhi_open(const char* config) try {
  return open_handle(config);
} catch (const std::exception& error) {
  return fail(error.what());
}

BODHI_API void bodhi_close(bodhi* handle) try {
  if (handle == nullptr) return;
  if (handle->owner == ::getpid()) {
    if (handle->writer) handle->writer->close(kCloseMs);
  } else {
    // The threads exist only in the parent, and a lock that they held at fork stays locked
    // here. So the Writer is leaked.
    new std::shared_ptr<zazen::Writer>(std::move(handle->writer));
  }
  delete handle;
} catch (const std::exception&) {
}

BODHI_API const char* bodhi_error(void) {
  return zazen::api_error_text().c_str();
}
