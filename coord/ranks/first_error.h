// FirstError: the first failure on a rank, kept without allocating.
#pragma once
#include <cstdio>
#include <exception>
#include <new>

namespace zazen {

class FirstError {
 public:
  bool any() const { return text_[0] != '\0'; }
  const char* text() const { return text_; }

  void note(const char* text) noexcept {
    if (!any()) std::snprintf(text_, sizeof text_, "%s", *text == '\0' ? "unknown" : text);
  }

  // Runs a local step unless there is trouble already; its exceptions become trouble.
  template <class Step>
  void local_step(Step&& step) noexcept {
    if (!any()) run(step);
  }
  // Runs a collective step in any case: the other ranks take part in it, too.
  template <class Step>
  void collective_step(Step&& step) noexcept {
    run(step);
  }

 private:
  template <class Step>
  void run(Step&& step) noexcept {
    try {
      step();
    } catch (const std::bad_alloc&) {
      note("out of memory");
    } catch (const std::exception& e) {
      note(e.what());
    } catch (...) {
      note("unknown");
    }
  }

  char text_[200] = {};
};

}  // namespace zazen
