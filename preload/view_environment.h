// A rank's view goes with the environment of a program that it starts, so that the program
// sees the same listing (D13). An environment that names a view already, or is empty, is left
// alone.
//
// May run in a vfork child: nothing but the stack is written.
#pragma once
#include <cstddef>

namespace zazen {

// Pointers that the environment takes with the view in it; 0 if it stays as it is.
std::size_t room_for_view(char* const* environment);

// `out` has that room.
char* const* add_view(char* const* environment, std::size_t room, char** out);

}  // namespace zazen

#define ZAZEN_WITH_VIEW(environment)                                                \
  std::size_t room = ::zazen::room_for_view(environment);                           \
  if (room != 0) {                                                                  \
    char** longer = static_cast<char**>(__builtin_alloca(room * sizeof(char*)));    \
    environment = const_cast<char**>(::zazen::add_view(environment, room, longer)); \
  }
