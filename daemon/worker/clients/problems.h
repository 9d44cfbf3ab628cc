// OriginProblems: which datasets' origins need attention, and which this user may list. An
// origin that does not answer delays nobody longer than a limit.
#pragma once
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/config/config.h"
#include "bodhi/node/listing.h"
#include "daemon/link/link_messages.h"
#include "daemon/threads/origin_threads.h"

namespace zazen {

class OriginProblems {
 public:
  explicit OriginProblems(const Config& config) : config_(config) {}

  // A directory that this user may not reach is a problem only for zazend's own user.
  OriginFindings find(bool is_own_user);
  // False also if the origin does not answer.
  bool may_list(std::uint32_t dataset);

 private:
  // True if names of a dataset follow its template. After one does, the dataset is not checked
  // again.
  struct TemplateLook {
    bool matches = false;
    DirectoryIdentity directory;  // as it was when nothing matched
    std::string mismatch;         // "" also before the first look has ended
    std::shared_future<void> under_way;
  };

  std::function<int(std::chrono::milliseconds limit)> ask(std::uint32_t dataset,
                                                          std::function<int()> question);
  // Starts a look unless one is under way.
  void look_at_names(std::uint32_t dataset);
  void compare_names(std::uint32_t dataset, const DatasetConfig& config);
  // False: the origin has not answered in time.
  bool await_look(std::uint32_t dataset, std::chrono::steady_clock::time_point deadline,
                  std::string* mismatch);

  const Config& config_;
  OriginThreads lanes_{1};
  std::mutex mutex_;
  std::map<std::uint32_t, TemplateLook> looks_;  // by dataset
  OriginThreads listings_{1};                    // separate, because a large directory is slow
};

}  // namespace zazen
