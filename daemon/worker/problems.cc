#include "daemon/worker/problems.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <future>

#include "daemon/worker/permission.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLimit(250), kListLimit(1'000);

}  // namespace

// The answer, or ETIMEDOUT.
std::function<int(milliseconds)> OriginProblems::ask(std::uint32_t dataset,
                                                     std::function<int()> question) {
  auto answer = std::make_shared<std::promise<int>>();
  auto future = std::make_shared<std::future<int>>(answer->get_future());
  lanes_.post(dataset,
              [answer, question = std::move(question)] { answer->set_value(question()); });
  return [future](milliseconds limit) {
    return future->wait_for(limit) == std::future_status::ready ? future->get() : ETIMEDOUT;
  };
}

std::vector<std::string> OriginProblems::find(bool is_own_user) {
  std::vector<std::pair<std::uint32_t, std::function<int(milliseconds)>>> looks;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].removed) continue;
    looks.emplace_back(i, ask(i, [path = config_.datasets[i].path] {
                         struct stat st = {};
                         if (::stat(path.c_str(), &st) != 0) return errno;
                         return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
                       }));
  }
  std::vector<std::string> problems;
  for (const auto& [dataset, look] : looks) {
    const int code = look(kLimit);
    if (code == 0 || (code == EACCES && !is_own_user)) continue;
    std::string why = code == ETIMEDOUT ? "the origin does not answer"
                      : code == ENOTDIR ? "not a directory"
                                        : std::strerror(code);
    problems.push_back("dataset " + config_.datasets[dataset].path + ": " + why);
  }
  return problems;
}

bool OriginProblems::may_list(std::uint32_t dataset) {
  return ask(dataset, [config = config_.datasets[dataset]] {
           return ask_permission(Wish::kList, config);
         })(kListLimit) == 0;
}

}  // namespace zazen
