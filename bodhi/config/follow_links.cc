#include <filesystem>
#include <system_error>

#include "bodhi/common/detached_looks.h"
#include "bodhi/config/config.h"

namespace zazen {

std::vector<std::string> follow_links(const std::vector<std::string>& paths) {
  static auto& looks = *new DetachedLooks<std::string>([](const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(path, error);
    return error ? path : real.string();
  });
  std::vector<std::string> followed = paths;
  const auto answers = looks.ask(paths, std::chrono::seconds(1));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (answers[i]) followed[i] = *answers[i];
  }
  return followed;
}

}  // namespace zazen
