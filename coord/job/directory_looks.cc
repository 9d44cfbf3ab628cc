#include "coord/job/directory_looks.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "bodhi/lean/system/signals_off.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAlone = std::chrono::milliseconds(2);
constexpr std::size_t kThreads = 16;
constexpr std::size_t kStackBytes = 128 << 10;

class Looks {
 public:
  explicit Looks(std::span<const NamedDataset> datasets) : states_(datasets.size()) {
    for (const NamedDataset& dataset : datasets) {
      const FrameName name = compiled(dataset.frames);
      directories_.push_back({frame_directory(dataset.path, name) + "/.", name});
    }
  }

  std::vector<DirectoryState> all() {
    look(Clock::now() + kAlone);
    pthread_t threads[kThreads];
    std::size_t started = 0;
    {
      SignalsOff no_signals;  // nor do the threads take any
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, kStackBytes);
      while (started < kThreads && next_ + started + 1 < states_.size() &&
             pthread_create(&threads[started], &attributes, help, this) == 0)
        ++started;
      pthread_attr_destroy(&attributes);
    }
    look(Clock::time_point::max());
    for (std::size_t i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
    return std::move(states_);
  }

 private:
  struct Directory {
    std::string path;
    FrameName name;
  };

  static void* help(void* self) {
    static_cast<Looks*>(self)->look(Clock::time_point::max());
    return nullptr;
  }

  void look(Clock::time_point until) noexcept {
    while (Clock::now() < until) {
      const std::size_t i = next_++;
      if (i >= states_.size()) return;
      const Result<DirectoryIdentity> identity =
          stat_directory(directories_[i].path, directories_[i].name);
      states_[i] =
          identity ? DirectoryState{0, *identity} : DirectoryState{identity.error().code, {}};
    }
  }

  std::vector<Directory> directories_;
  std::vector<DirectoryState> states_;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

FrameName compiled(const std::string& text) {
  FrameName name;
  const char* why = nullptr;
  if (!FrameName::parse(text.data(), text.size(), &name, &why))
    throw std::runtime_error(text + ": " + why);
  return name;
}

std::vector<DirectoryState> look_at_directories(std::span<const NamedDataset> datasets) {
  return Looks(datasets).all();
}

}  // namespace zazen
