#include "daemon/process/log.h"

#include <ctime>
#include <regex>
#include <sstream>

#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

TEST(Log, PlainValuesStayPlain) {
  EXPECT_EQ(escape_log_value("/sim1/f7"), "/sim1/f7");
}

TEST(Log, PathCannotForgeALine) {
  EXPECT_EQ(escape_log_value("a b"), "\"a b\"");
  EXPECT_EQ(escape_log_value("x\nzazend level=error"), "\"x\\x0azazend level=error\"");
  EXPECT_EQ(escape_log_value("say \"hi\"\\"), "\"say \\\"hi\\\"\\\\\"");
  EXPECT_EQ(escape_log_value(""), "\"\"");
}

TEST(Log, NonAsciiIsKept) {
  EXPECT_EQ(escape_log_value("/størrelse"), "/størrelse");
}

class LogLines : public ZazendTest {};

TEST_F(LogLines, BeginWithTheirPriorityIfJournaldReadsThem) {
  write_file(directory() + "/log", "");
  struct stat st = {};
  ASSERT_EQ(::stat((directory() + "/log").c_str(), &st), 0);
  std::string stream = std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
  write_config();
  std::filesystem::remove(origin());  // a problem, and so a warning
  ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
  start();
  ::unsetenv("JOURNAL_STREAM");
  // A worker looks at the origins.
  while (read_file(directory() + "/log").find("event=problem") == std::string::npos) {
    ::usleep(1'000);
  }
  EXPECT_EQ(end(SIGTERM), 0);
  std::string text = read_file(directory() + "/log");
  EXPECT_TRUE(std::regex_search(text, std::regex("(^|\n)<6>zazend level=info event=serving")));
  EXPECT_TRUE(std::regex_search(text, std::regex("(^|\n)<4>zazend level=warn event=problem")));
}

TEST_F(LogLines, BeginWithTheTimeElsewhere) {
  write_config();
  ::setenv("JOURNAL_STREAM", "8:1", 1);
  start();
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_EQ(end(SIGTERM), 0);
  const std::string text = read_file(directory() + "/log");
  EXPECT_EQ(text.find('<'), std::string::npos);
  const std::regex begins(
      "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z zazend level=\\w+ .*");
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, begins)) << line;
  }
  EXPECT_GE(count, 2);
  std::tm at = {};
  ASSERT_NE(::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &at), nullptr);
  EXPECT_LT(std::abs(std::difftime(::timegm(&at), std::time(nullptr))), 600);
}

TEST_F(LogLines, OfAStormAreCountedNotWritten) {
  constexpr int kStorm = 5000;
  std::string errors = directory() + "/errors";
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    for (int i = 0; i < kStorm; ++i) log_line(LogLevel::kWarn, "storm");
    while (read_file(errors).find("event=calm") == std::string::npos) {
      ::usleep(50'000);
      log_line(LogLevel::kInfo, "calm");
    }
    ::_exit(0);
  }
  EXPECT_EQ(wait_for(child), 0);
  std::string text = read_file(errors);
  auto count = [&](const char* pattern) {
    std::regex regex(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
  };
  EXPECT_LT(count("event=storm"), kStorm / 2);
  int left_out = 0;
  std::regex regex("level=warn event=left_out lines=([0-9]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    left_out += std::stoi((*it)[1]);
  }
  EXPECT_GE(count("event=storm") + left_out, kStorm);
}

}  // namespace
}  // namespace zazen
