#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include "bodhi/common/no_signals.h"
#include "bodhi/config/config.h"

namespace zazen {

// Each path has its own thread, which may outlive the call.
std::vector<std::string> follow_links(const std::vector<std::string>& paths) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::vector<std::future<std::string>> answers(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::promise<std::string> promise;
    std::future<std::string> answer = promise.get_future();
    try {
      NoSignals no_signals;
      std::thread([path = paths[i], promise = std::move(promise)]() mutable {
        std::error_code error;
        auto real = std::filesystem::weakly_canonical(path, error);
        promise.set_value(error ? path : real.string());
      }).detach();
      answers[i] = std::move(answer);
    } catch (const std::system_error&) {  // the system refuses a thread
    }
  }
  std::vector<std::string> followed = paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!answers[i].valid()) continue;
    if (answers[i].wait_until(deadline) != std::future_status::ready) continue;
    followed[i] = answers[i].get();
  }
  return followed;
}

}  // namespace zazen
