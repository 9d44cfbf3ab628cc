#include "tools/doctor/script_line.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

std::string parsed(const std::string& head) {
  std::optional<ScriptLine> line = parse_script_line(head);
  return line ? line->interpreter + "|" + line->argument : "no script";
}

TEST(ScriptLine, InterpreterAndOneArgument) {
  EXPECT_EQ(parsed("#!/bin/sh\nrest"), "/bin/sh|");
  EXPECT_EQ(parsed("#! \t/usr/bin/perl -w -T \nx"), "/usr/bin/perl|-w -T");
  EXPECT_EQ(parsed("#!/bin/sh"), "/bin/sh|");
  EXPECT_EQ(parsed("#!/usr/bin/env -S python3 -u\n"), "/usr/bin/env|-S python3 -u");
}

TEST(ScriptLine, WhatIsNoScript) {
  for (const std::string head : {"", "#", "# !/bin/sh\n", "#!", "#!\n/bin/sh\n", "#!  \n"}) {
    EXPECT_EQ(parsed(head), "no script") << head;
  }
  EXPECT_EQ(parsed(std::string("#!/bin/\0sh\n", 11)), "no script");
}

std::string env(const std::string& argument) {
  EnvCommand command = parse_env_argument(argument);
  return command.program + (command.clears_environment ? ", cleared" : "");
}

TEST(EnvCommand, ProgramAndWhatBecomesOfTheEnvironment) {
  EXPECT_EQ(env("python3"), "python3");
  EXPECT_EQ(env("-S python3 -u"), "python3");
  EXPECT_EQ(env("-Spython3"), "python3");
  EXPECT_EQ(env("--split-string=A=b python3"), "python3");
  EXPECT_EQ(env("-S A=b -u HOME python3"), "python3");
  EXPECT_EQ(env("-S -i PATH=/bin python3"), "python3, cleared");
  EXPECT_EQ(env("-iS python3"), "python3, cleared");
  EXPECT_EQ(env("-vS python3 -i"), "python3");
  EXPECT_EQ(env("-S - python3"), "python3, cleared");
  EXPECT_EQ(env("-S -u LD_PRELOAD python3"), "python3, cleared");
  EXPECT_EQ(env("-S --unset=LD_PRELOAD python3"), "python3, cleared");
  EXPECT_EQ(env("-S LD_PRELOAD= python3"), "python3, cleared");
  EXPECT_EQ(env(""), "");
  EXPECT_EQ(env("-S"), "");
  EXPECT_EQ(env("-S -u"), "");
}

}  // namespace
}  // namespace zazen
