// A Communicator that takes part in everything, but whose rank loses the result of one call, as
// if its memory had run out there. The call throws after the other ranks have had their part of
// it. Sums and the like need no memory and are never lost.
#pragma once
#include <memory>
#include <new>

#include "coord/ranks/communicator.h"

namespace zazen {

class LosingCommunicator final : public Communicator {
 public:
  // The call number `lost_call` is lost, counted over the split communicators, too; `*calls` is
  // how many there were.
  LosingCommunicator(Communicator& inner, int lost_call, int* calls)
      : inner_(&inner), lost_call_(lost_call), calls_(calls) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool failed() const override { return inner_->failed(); }
  void all_or(std::span<std::uint64_t> words) override { inner_->all_or(words); }
  void all_combine_aliens(std::span<std::uint64_t> words) override {
    inner_->all_combine_aliens(words);
  }
  void all_sum(std::span<std::uint64_t> values) override { inner_->all_sum(values); }
  void all_min(std::span<std::uint64_t> values) override { inner_->all_min(values); }
  std::vector<std::string> all_gather(const std::string& mine) override {
    return kept(inner_->all_gather(mine));
  }
  void broadcast(std::string& bytes, int root) override {
    std::string copy = bytes;
    inner_->broadcast(copy, root);
    bytes = kept(std::move(copy));
  }
  std::string scatter(const std::vector<std::string>& parts, int root) override {
    return kept(inner_->scatter(parts, root));
  }
  Delivery all_to_all(std::span<const MessagePair> to) override {
    return kept(inner_->all_to_all(to));
  }
  std::unique_ptr<Communicator> split(int colour) override {
    std::unique_ptr<Communicator> child = kept(inner_->split(colour));
    auto losing = std::make_unique<LosingCommunicator>(*child, lost_call_, calls_);
    losing->owned_ = std::move(child);
    return losing;
  }

 private:
  template <class T>
  T kept(T result) {
    if ((*calls_)++ == lost_call_) throw std::bad_alloc();
    return result;
  }

  Communicator* inner_;
  std::unique_ptr<Communicator> owned_;
  int lost_call_;
  int* calls_;
};

}  // namespace zazen
