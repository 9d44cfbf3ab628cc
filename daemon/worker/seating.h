// Seating: who gives way when every place at the socket is taken, so that nobody can keep
// others out by holding connections. Pure: the server describes its clients and does what it is
// told.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

namespace zazen {

struct Seat {
  std::uint64_t client;
  uid_t uid;
  std::uint64_t last_turn;  // when it last sent something; a counter, not a time
  bool is_served;           // waits for an answer that we owe it
};

// Of the user with the most connections, the newcomer's among them, the client that has been
// quiet longest and is owed nothing. Has that user none such, one that is served gives way to
// another user's newcomer, but not to the user's own: then nobody does.
std::optional<std::uint64_t> who_gives_way(std::span<const Seat> seats, uid_t newcomer);

}  // namespace zazen
