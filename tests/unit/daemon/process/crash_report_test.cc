// Real crashes of a child process, and of the real daemon: its report and its wait status.
#include "daemon/process/crash_report.h"

#include <sys/resource.h>

#include <functional>
#include <regex>
#include <stdexcept>
#include <thread>

#include "tests/unit/daemon/zazend_process.h"

// Names that the linker does not change, and calls that are not the last of their function.
extern "C" {
volatile int* volatile nowhere = nullptr;
volatile int sink = 0;

[[gnu::noinline, gnu::no_sanitize("undefined", "address")]] int writes_to_nowhere(int value) {
  *nowhere = value;
  return sink + 1;
}
[[gnu::noinline]] int calls_the_culprit(int value) {
  return writes_to_nowhere(value) + sink;
}
[[gnu::noinline]] int never_ends(int depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  int below = sink == 0 ? never_ends(depth + 1) : 0;
  return below + room[0];
}
[[gnu::noinline]] int aborts_here() {
  std::abort();
}
[[gnu::noinline]] int throws_here() {
  throw std::runtime_error("no such frame");
}
}

namespace zazen {
namespace {

class CrashReport : public ZazendTest {
 protected:
  CrashReport() {
    rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
  }

  struct Death {
    int signal;
    std::string words;
  };
  Death die(const std::function<void()>& crash) {
    std::string errors = directory() + "/errors";
    pid_t child = ::fork();
    if (child == 0) {
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
      install_crash_report();
      crash();
      ::_exit(0);
    }
    return {wait_for(child) - 128, read_file(errors)};
  }
  static bool finds(const Death& death, const std::string& pattern) {
    return std::regex_search(death.words, std::regex(pattern));
  }
};

TEST_F(CrashReport, NamesTheFunctionsOnTheStack) {
  Death death = die([] { calls_the_culprit(1); });
  EXPECT_EQ(death.signal, SIGSEGV);
  EXPECT_TRUE(finds(death, "event=crash version=\\S+ signal=SIGSEGV address=0x0 tid=\\d+"))
      << death.words;
  EXPECT_TRUE(finds(death, "depth=0 address=\\S+ function=writes_to_nowhere\\+\\S+ module="))
      << death.words;
  EXPECT_TRUE(finds(death, "depth=1 address=\\S+ function=calls_the_culprit\\+"))
      << death.words;
  EXPECT_TRUE(finds(death, "event=crash_end")) << death.words;
}

TEST_F(CrashReport, OverflowOfTheStackIsReported) {
  Death death = die([] { never_ends(0); });
  EXPECT_EQ(death.signal, SIGSEGV);
  EXPECT_TRUE(finds(death, "function=never_ends")) << death.words;
}

TEST_F(CrashReport, OverflowInAThreadIsReported) {
  Death death = die([] {
    std::thread([] {
      CrashStack stack;
      never_ends(0);
    }).join();
  });
  EXPECT_EQ(death.signal, SIGSEGV);
  EXPECT_TRUE(finds(death, "function=never_ends")) << death.words;
}

TEST_F(CrashReport, AbortIsReported) {
  Death death = die([] { aborts_here(); });
  EXPECT_EQ(death.signal, SIGABRT);
  EXPECT_TRUE(finds(death, "signal=SIGABRT")) << death.words;
  EXPECT_TRUE(finds(death, "function=aborts_here")) << death.words;
}

TEST_F(CrashReport, UncaughtExceptionIsNamed) {
  Death death = die([] { std::thread([] { throws_here(); }).join(); });
  EXPECT_EQ(death.signal, SIGABRT);
  EXPECT_TRUE(finds(death, "event=uncaught_exception what=\"no such frame\"")) << death.words;
  EXPECT_TRUE(finds(death, "event=crash_frame")) << death.words;
}

TEST_F(CrashReport, DaemonKilledBySignalShowsItsEventLoop) {
  write_config();
  start();
  status();  // answered by the event loop; a thread that starts another blocks its signals
  EXPECT_EQ(end(SIGSEGV), 128 + SIGSEGV);
  Death death{0, read_file(directory() + "/log")};
  EXPECT_TRUE(finds(death, "event=crash version=\\S+ signal=SIGSEGV sent_by_pid=\\d+"))
      << death.words;
  EXPECT_TRUE(finds(death, "function=_ZN5zazen10WorkerPool4loop")) << death.words;
  EXPECT_TRUE(finds(death, "function=main")) << death.words;
}

}  // namespace
}  // namespace zazen
