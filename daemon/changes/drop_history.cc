#include "daemon/changes/drop_history.h"

#include <time.h>

#include <nlohmann/json.hpp>

namespace zazen {

void DropHistory::note_drop(std::uint32_t dataset, FrameSeq seq, std::string why) {
  std::lock_guard lock(mutex_);
  const Key key{dataset, seq};
  if (drops_.insert_or_assign(key, Event{std::move(why), ::time(nullptr)}).second) {
    order_.push_back(key);
  }
  if (order_.size() <= kMostFrames) return;
  drops_.erase(order_.front());
  order_.pop_front();
}

void DropHistory::note_doubt(std::uint32_t dataset, std::string why) {
  std::lock_guard lock(mutex_);
  doubts_.insert_or_assign(dataset, Event{std::move(why), ::time(nullptr)});
}

std::string DropHistory::json(std::uint32_t dataset, FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  nlohmann::ordered_json out = {{"dropped", nullptr}, {"doubted", nullptr}};
  auto tell = [&](const char* what, const Event& event) {
    out[what] = {{"why", event.why}, {"at", event.at}};
  };
  if (auto found = drops_.find({dataset, seq}); found != drops_.end()) {
    tell("dropped", found->second);
  }
  if (auto found = doubts_.find(dataset); found != doubts_.end())
    tell("doubted", found->second);
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace zazen
