// TableState: the table of this node's daemon, as a program that starts at this moment finds
// it. If there is none, the reason why the program would bypass the cache.
#pragma once
#include <string>

#include "bodhi/lean/frames/table.h"

namespace zazen {

class TableState {
 public:
  explicit TableState(const std::string& runtime);
  ~TableState() {
    unmap_table(table_);
    unmap_table(orphan_);
  }
  TableState(const TableState&) = delete;
  TableState& operator=(const TableState&) = delete;

  bool serves() const { return reason_.empty(); }
  const Table& table() const { return *table_; }  // only if it serves
  // "" if it serves; else a phrase: "no daemon runs in /run/zazen".
  const std::string& reason() const { return reason_; }
  // True if a change of the dataset's frames drops their copies; a dead daemon's table counts,
  // too.
  bool tells_of(const std::string& dataset) const;

 private:
  const Table* table_ = nullptr;
  const Table* orphan_ = nullptr;  // left by a daemon that is gone
  std::string reason_;
};

}  // namespace zazen
