// The link to a daemon of this machine: its socket carries descriptors, not content.
//
// A frame that the origin has is passed as the origin's descriptor, as by any client. Content
// that the origin may not have is passed in a sealed memory file, or in the writer's own file.
#include <chrono>
#include <map>

#include "bodhi/common/memory_file.h"
#include "bodhi/node/client.h"
#include "bodhi/push/node_link.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

class LocalLink : public NodeLink {
 public:
  LocalLink(std::string runtime, Client client, int timeout_ms)
      : runtime_(std::move(runtime)), client_(std::move(client)), timeout_ms_(timeout_ms) {}

  Status start_push(std::uint64_t request, const std::string& dataset, const std::string& name,
                    const PushContent& content) override {
    Result<std::uint64_t> sent = send(dataset, name, content);
    while (!sent && sent.error().code == ETIMEDOUT && is_at_work()) {
      sent = send(dataset, name, content);
    }
    if (!sent) return sent.error();
    requests_[*sent] = request;
    return Done{};
  }

  Result<PushAnswer> next_answer() override {
    const Clock::time_point begin = Clock::now();
    for (;;) {
      Result<Client::PushAnswer> answer = client_.next_push_answer();
      if (!answer) {
        bool is_late = Clock::now() - begin > kLongestWork;
        if (answer.error().code != ETIMEDOUT || is_late || !is_at_work()) return answer.error();
        continue;
      }
      auto found = requests_.extract(answer->request);
      if (!found.empty()) return PushAnswer{found.mapped(), answer->status};
    }
  }

  // By a separate connection: this one carries the answers to pushes.
  Result<FrameSet> natives(const std::string& dataset) override {
    Result<Client> client = Client::connect(runtime_, timeout_ms_);
    if (!client) return client.error();
    Result<std::vector<ListRecord>> records = client->list(dataset);
    if (!records) return records.error();
    std::vector<FrameSeq> natives;
    for (const ListRecord& record : *records) {
      if (record.kind == FrameKind::kNative) natives.push_back(record.seq);
    }
    return FrameSet(std::move(natives));
  }

  Status tell(std::string_view notice) override { return client_.tell(notice); }

 private:
  // A large frame, or a slow origin, may take long.
  bool is_at_work() const {
    Result<Client> probe = Client::connect(runtime_, timeout_ms_);
    return probe && probe->status();
  }

  Result<std::uint64_t> send(const std::string& dataset, const std::string& name,
                             const PushContent& content) {
    if (content.fd >= 0) {
      return content.origin ? client_.start_push(dataset, name, content.fd)
                            : client_.start_push_content(dataset, name, content.fd);
    }
    Result<UniqueFd> file = sealed_memory(
        {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()});
    if (!file) return file.error();
    return client_.start_push_content(dataset, name, file->get());
  }

  const std::string runtime_;
  Client client_;
  const int timeout_ms_;
  std::map<std::uint64_t, std::uint64_t> requests_;  // the caller's, by the client's
};

}  // namespace

Result<std::unique_ptr<NodeLink>> connect_local_link(const std::string& runtime,
                                                     int timeout_ms) {
  Result<Client> client = Client::connect(runtime, timeout_ms);
  if (!client) return client.error();
  return std::unique_ptr<NodeLink>(
      std::make_unique<LocalLink>(runtime, std::move(*client), timeout_ms));
}

}  // namespace zazen
