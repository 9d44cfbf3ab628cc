// Adds a rank's view to the environment of a program that it starts, so that the program sees
// the same listing (D13). An environment that names a view already, or is empty, is left
// unchanged.
//
// May run in a vfork child: writes only the stack and new pages. The pages hold an environment
// that a thread's small stack could not hold. After a successful exec in a vfork child, the
// pages stay in the parent.
#pragma once
#include <cstddef>

namespace zazen {

// The number of pointers that the environment needs with the view in it; 0 if it stays
// unchanged.
std::size_t room_for_view(char* const* environment);

// `out` has this many pointers.
char* const* add_view(char* const* environment, std::size_t room, char** out);

inline constexpr std::size_t kMaxOnStack = 2048;  // pointers

class EnvironmentPages {  // none, if the pointers fit on the stack
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
