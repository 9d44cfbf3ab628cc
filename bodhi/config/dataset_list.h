// DatasetList: the datasets of a configuration, by their position. A reload appends while other
// threads of the daemon read. Datasets neither move nor disappear; at most kMaxDatasets fit.
#pragma once
#include <atomic>
#include <utility>
#include <vector>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

template <class Dataset>
class DatasetList {
 public:
  // All room at once: a reader never sees a pointer from before the first dataset.
  DatasetList() { datasets_.reserve(kMaxDatasets); }
  DatasetList(const DatasetList& other) : DatasetList() { *this = other; }
  DatasetList& operator=(const DatasetList& other) {
    if (this == &other) return *this;
    clear();
    for (const Dataset& dataset : other) push_back(dataset);
    return *this;
  }

  std::size_t size() const { return count_.load(std::memory_order_acquire); }
  bool empty() const { return size() == 0; }
  Dataset& operator[](std::size_t index) { return datasets_.data()[index]; }
  const Dataset& operator[](std::size_t index) const { return datasets_.data()[index]; }
  Dataset* begin() { return datasets_.data(); }
  Dataset* end() { return datasets_.data() + size(); }
  const Dataset* begin() const { return datasets_.data(); }
  const Dataset* end() const { return datasets_.data() + size(); }

  void push_back(Dataset dataset) {
    datasets_.push_back(std::move(dataset));
    count_.store(datasets_.size(), std::memory_order_release);
  }
  void pop_back() {  // only for an element that no other thread has seen
    count_.store(datasets_.size() - 1, std::memory_order_release);
    datasets_.pop_back();
  }
  void clear() {  // only while no other thread reads
    count_ = 0;
    datasets_.clear();
  }

 private:
  std::vector<Dataset> datasets_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace zazen
