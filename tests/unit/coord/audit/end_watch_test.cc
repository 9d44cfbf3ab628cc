#include "coord/audit/end_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <chrono>
#include <functional>
#include <sstream>

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 30;
constexpr int kNotConnected = 9;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// A process that connects, says so by a byte, and then does as told.
class Watched {
 public:
  Watched(const std::string& place, const std::function<void()>& then) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (!hold_connection(place)) ::_exit(kNotConnected);
    then();
    ::_exit(0);
  }
  ~Watched() {
    kill();
    wait();
  }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  int wait() {
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
};

struct Gate {  // a pipe: opens when the writing end is closed
  Gate() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Gate() { open(); }
  void open() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  void pass() {  // in the other process
    char byte;
    ::close(ends[1]);
    [[maybe_unused]] ssize_t n = ::read(ends[0], &byte, 1);
  }
  int ends[2];
};

TEST(EndWatch, ReturnsWhenAllHaveEndedInWhateverWay) {
  std::unique_ptr<EndWatch> watch = EndWatch::open();
  ASSERT_TRUE(watch);
  Gate gate;
  Watched ends(watch->place(), [] {});
  Watched is_killed(watch->place(), [] { ::pause(); });
  Watched waits(watch->place(), [&] { gate.pass(); });
  ASSERT_EQ(watch->admit(3, kLong), 3);

  Clock::time_point began = Clock::now();
  watch->wait_for_ends(0.3);
  EXPECT_GE(seconds_since(began), 0.3);
  is_killed.kill();
  began = Clock::now();
  watch->wait_for_ends(0.3);  // one is still there
  EXPECT_GE(seconds_since(began), 0.3);
  gate.open();
  began = Clock::now();
  watch->wait_for_ends(kLong);
  EXPECT_LT(seconds_since(began), kLong / 2);
  EXPECT_EQ(waits.wait(), 0);
}

TEST(EndWatch, WhatAProcessForksOrExecutesDoesNotHoldTheConnection) {
  std::unique_ptr<EndWatch> watch = EndWatch::open();
  ASSERT_TRUE(watch);
  Gate gate;
  Watched forks(watch->place(), [&] {
    if (::fork() != 0) return;
    gate.pass();
    ::_exit(0);
  });
  Watched executes(watch->place(), [] { ::execlp("sleep", "sleep", "60", nullptr); });
  ASSERT_EQ(watch->admit(2, kLong), 2);
  const Clock::time_point began = Clock::now();
  watch->wait_for_ends(kLong);
  EXPECT_LT(seconds_since(began), kLong / 2);
}

TEST(EndWatch, AStrangerIsNotAdmittedAndHoldsNobodyUpForLong) {
  std::unique_ptr<EndWatch> watch = EndWatch::open();
  ASSERT_TRUE(watch);
  std::istringstream words(watch->place());
  int port = 0;
  words >> port;
  sockaddr_in address{
      AF_INET, htons(static_cast<in_port_t>(port)), {htonl(INADDR_LOOPBACK)}, {}};
  UniqueFd silent(::socket(AF_INET, SOCK_STREAM, 0)), wrong(::socket(AF_INET, SOCK_STREAM, 0));
  for (const UniqueFd* fd : {&silent, &wrong})
    ASSERT_EQ(::connect(fd->get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string guess(32, '0');
  ASSERT_EQ(::send(wrong.get(), guess.data(), guess.size(), 0), 32);
  Watched one(watch->place(), [] {});
  EXPECT_EQ(watch->admit(2, 4), 1);
}

TEST(EndWatch, ADescriptorThatTheProgramTookIsNotWaitedFor) {
  std::unique_ptr<EndWatch> watch = EndWatch::open();
  ASSERT_TRUE(watch);
  Gate gate;
  Watched waits(watch->place(), [&] { gate.pass(); });
  ASSERT_EQ(watch->admit(1, kLong), 1);
  ::closefrom(3);
  gate.ends[0] = gate.ends[1] = -1;
  const Clock::time_point began = Clock::now();
  watch->wait_for_ends(kLong);
  EXPECT_LT(seconds_since(began), kLong / 2);
}

TEST(EndWatch, APlaceThatMakesNoSenseIsNoPlace) {
  EXPECT_FALSE(hold_connection(""));
  EXPECT_FALSE(hold_connection("?"));
  EXPECT_FALSE(hold_connection("1 0123456789abcdef0123456789abcdef elsewhere not-an-address"));
}

TEST(EndWatch, SignalsDoNotEndTheWaitForAnAnswer) {
  std::unique_ptr<EndWatch> watch = EndWatch::open();
  ASSERT_NE(watch, nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 10'000}, {0, 10'000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    ::_exit(hold_connection(watch->place()) ? 0 : kNotConnected);
  }
  ::usleep(300'000);  // the child waits meanwhile
  EXPECT_EQ(watch->admit(1, kLong), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace zazen
