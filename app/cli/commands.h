#pragma once

// Every subcommand in its own file: it declares its options and leaves a callback that does the work.

#include <CLI/CLI.hpp>
#include <string>

namespace samplenorm::cli {

/// `command`: the whole command line, for the records.
void add_demo(CLI::App& program, const std::string& command);
void add_train(CLI::App& program, const std::string& command);
void add_eval(CLI::App& program, const std::string& command);
/// `data` with its own subcommands.
void add_data(CLI::App& program, const std::string& command);
void add_methods(CLI::App& program);
void add_profile(CLI::App& program, const std::string& command);
void add_study(CLI::App& program, const std::string& command);
void add_report(CLI::App& program);
void add_undisturbed(CLI::App& program);
/// `bench` is the parent of the benchmarks.
void add_bench_layer(CLI::App& bench, const std::string& command);
void add_bench_step(CLI::App& bench, const std::string& command);
void add_bench_processes(CLI::App& bench, const std::string& command);

}  // namespace samplenorm::cli
