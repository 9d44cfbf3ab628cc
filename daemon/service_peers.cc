// The service and other nodes: notices of changed frames, and changes that nobody was told of.
#include "daemon/log.h"
#include "daemon/service.h"
#include "daemon/shortage.h"

namespace zazen {

void Service::compare(std::uint32_t dataset, const std::vector<FrameSeq>& frames) {
  bool posted = samples_.post(
      dataset, [=, this] { settle(dataset, compare_frames(store_, dataset, frames)); });
  if (!posted) sweep_.doubt(dataset);
}

// A removed dataset is doubted when it comes back.
void Service::doubt_all() {
  log_line(LogLevel::kWarn, "heartbeat_gap",
           {{"what", "the daemon was held up: its copies are compared with their origins"}});
  for (std::uint32_t i = 0; i < config_.datasets.size(); ++i) {
    if (!config_.datasets[i].removed) doubt_and_tell(i);
  }
}

void Service::doubt_and_tell(std::uint32_t dataset) {
  sweep_.doubt(dataset);
  changes_.missed(dataset);
}

}  // namespace zazen
