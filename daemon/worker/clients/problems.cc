#include "daemon/worker/clients/problems.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "bodhi/config/template_check.h"
#include "daemon/worker/origins/permission.h"

namespace zazen {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLimit(250), kListLimit(1'000);

}  // namespace

// Returns a function that waits for the answer: the answer, or ETIMEDOUT.
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

void OriginProblems::look_at_names(std::uint32_t dataset) {
  std::lock_guard lock(mutex_);
  TemplateLook& look = looks_[dataset];
  const bool is_under_way =
      look.under_way.valid() &&
      look.under_way.wait_for(milliseconds(0)) != std::future_status::ready;
  if (look.matches || is_under_way) return;
  auto done = std::make_shared<std::promise<void>>();
  look.under_way = done->get_future().share();
  listings_.post(dataset, [this, dataset, config = config_.datasets[dataset], done] {
    compare_names(dataset, config);
    done->set_value();
  });
}

void OriginProblems::compare_names(std::uint32_t dataset, const DatasetConfig& config) {
  const auto directory = stat_directory(frame_directory(config.path, config.name), config.name);
  std::unique_lock lock(mutex_);
  // A directory in which nothing has changed is not listed again.
  const bool tells_changes = directory.ok() && !config.name.entry_is_directory();
  if (tells_changes && *directory == looks_[dataset].directory) return;
  lock.unlock();
  bool matches = false;
  const std::string mismatch = describe_mismatch(config, &matches);
  lock.lock();
  looks_[dataset].matches = matches;
  looks_[dataset].directory = tells_changes ? *directory : DirectoryIdentity();
  looks_[dataset].mismatch = mismatch;
}

bool OriginProblems::await_look(std::uint32_t dataset,
                                std::chrono::steady_clock::time_point deadline,
                                std::string* mismatch) {
  std::unique_lock lock(mutex_);
  const std::shared_future<void> under_way = looks_[dataset].under_way;
  lock.unlock();
  const bool is_done =
      !under_way.valid() || under_way.wait_until(deadline) == std::future_status::ready;
  lock.lock();
  *mismatch = looks_[dataset].mismatch;
  return is_done;
}

OriginFindings OriginProblems::find(bool is_own_user) {
  std::vector<std::pair<std::uint32_t, std::function<int(milliseconds)>>> looks;
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (config_.datasets[i].removed) continue;
    looks.emplace_back(i, ask(i, [path = config_.datasets[i].path] {
                         struct stat st = {};
                         if (::stat(path.c_str(), &st) != 0) return errno;
                         return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
                       }));
  }
  OriginFindings found;
  std::vector<std::uint32_t> answering;
  for (const auto& [dataset, look] : looks) {
    const int code = look(kLimit);
    if (code == 0) {
      look_at_names(dataset);
      answering.push_back(dataset);
    }
    if (code == ETIMEDOUT) found.is_whole = false;
    if (code == 0 || (code == EACCES && !is_own_user)) continue;
    std::string why = code == ETIMEDOUT ? "the origin does not answer"
                      : code == ENOTDIR ? "not a directory"
                                        : std::strerror(code);
    found.problems.push_back("dataset " + config_.datasets[dataset].path + ": " + why);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  for (const std::uint32_t dataset : answering) {
    std::string mismatch;
    if (!await_look(dataset, deadline, &mismatch)) found.is_whole = false;
    if (mismatch.empty()) continue;
    found.warnings.push_back("dataset " + config_.datasets[dataset].path + ": " + mismatch);
  }
  return found;
}

bool OriginProblems::may_list(std::uint32_t dataset) {
  return ask(dataset, [config = config_.datasets[dataset]] {
           return ask_permission(Wish::kList, config);
         })(kListLimit) == 0;
}

}  // namespace zazen
