// A rank's view goes with the environment of a program that it starts, so that the program
// sees the same listing (D13). An environment that names a view already, or is empty, is left
// alone.
//
// May run in a vfork child: nothing but the stack and new pages are written. Such pages are for
// an environment that a thread's small stack could not hold; after a successful exec in a vfork
// child the parent keeps them.
#pragma once
#include <cstddef>

namespace zazen {

// Pointers that the environment takes with the view in it; 0 if it stays as it is.
std::size_t room_for_view(char* const* environment);

// `out` has that room.
char* const* add_view(char* const* environment, std::size_t room, char** out);

inline constexpr std::size_t kMaxOnStack = 2048;  // pointers

class EnvironmentPages {  // none, if that many pointers go on the stack
 public:
  explicit EnvironmentPages(std::size_t room);
  ~EnvironmentPages();
  EnvironmentPages(const EnvironmentPages&) = delete;
  EnvironmentPages& operator=(const EnvironmentPages&) = delete;

  bool wanted() const { return size_ != 0; }
  char** get() const { return pages_; }  // null: there is no memory

 private:
  const std::size_t size_;
  char** pages_ = nullptr;
};

}  // namespace zazen

#define ZAZEN_WITH_VIEW(environment)                                                   \
  std::size_t room = ::zazen::room_for_view(environment);                              \
  ::zazen::EnvironmentPages pages(room);                                               \
  if (room != 0) {                                                                     \
    char** longer = pages.wanted()                                                     \
                        ? pages.get()                                                  \
                        : static_cast<char**>(__builtin_alloca(room * sizeof(char*))); \
    if (longer != nullptr) {                                                           \
      environment = const_cast<char**>(::zazen::add_view(environment, room, longer));  \
    }                                                                                  \
  }
