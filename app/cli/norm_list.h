#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace samplenorm::cli {

inline constexpr const char* kDefaultNorms = "torch,BN,FS-1/64,LS-1/64";

/// Adds `--norm A,B,...`, every name of which must be one of norm_by_name()'s: a wrong one is wrong use.
CLI::Option* add_norm_list(CLI::App& command, std::string& list, const std::string& help);

std::vector<std::string> split_norm_list(const std::string& list);

}  // namespace samplenorm::cli
