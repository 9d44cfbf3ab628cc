// Cache: the functions of zazend that a worker's fills use (link_messages.h).
#pragma once
#include <functional>

#include "daemon/link/link_messages.h"

namespace zazen {

class Cache {
 public:
  virtual ~Cache() = default;
  // These wait for zazend's answer: 0 or an errno.
  virtual int begin_fill(const BeginFill& offer, BeginFill::Reply* reply) = 0;
  virtual int more_room(const MoreRoom& more) = 0;
  virtual int adopt(const Adopt& adopt) = 0;
  // `done` gets the outcome, on another thread.
  virtual void finish_fill(const FinishFill& finish, std::function<void(int)> done) = 0;
  virtual void finish_content(const FinishContent& finish, std::function<void(int)> done) = 0;
  virtual void abandon_fill(const AbandonFill& abandon) = 0;
  virtual void note_failed(const FillFailed& failed) = 0;
};

}  // namespace zazen
