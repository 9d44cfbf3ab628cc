// The benchmarks. Each adds its subcommand, its options and the processes that it starts; its
// source begins with what it measures.
#pragma once
#include "tools/bench/support/command_line.h"

namespace zazen {

void add_changes_bench(CommandLine& line);
void add_clients_bench(CommandLine& line);
void add_drops_bench(CommandLine& line);
void add_fills_bench(CommandLine& line);
void add_first_miss_bench(CommandLine& line);
void add_hook_bench(CommandLine& line);
void add_listing_bench(CommandLine& line);
void add_misses_bench(CommandLine& line);
void add_push_bench(CommandLine& line);
void add_readers_bench(CommandLine& line);
void add_restart_bench(CommandLine& line);
void add_shim_bench(CommandLine& line);

}  // namespace zazen
