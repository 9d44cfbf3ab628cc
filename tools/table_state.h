// TableState: the table of this node's daemon as a program that starts now finds it, or why
// such a program would pass the cache by.
#pragma once
#include <string>

#include "bodhi/table.h"

namespace zazen {

class TableState {
 public:
  explicit TableState(const std::string& runtime);
  ~TableState() { unmap_table(table_); }
  TableState(const TableState&) = delete;
  TableState& operator=(const TableState&) = delete;

  bool serves() const { return reason_.empty(); }
  const Table& table() const { return *table_; }  // only if it serves
  // "" if it serves; else a phrase: "no daemon runs in /run/zazen".
  const std::string& reason() const { return reason_; }

 private:
  const Table* table_ = nullptr;
  std::string reason_;
};

}  // namespace zazen
