#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace samplenorm::data {

/// Runs a program, found in PATH, in `folder` and waits for it. Its output stays hidden. Throws Error if it cannot be
/// run or fails, with the beginning of what it wrote to stderr.
void run_program(const std::vector<std::string>& command, const std::filesystem::path& folder);

}  // namespace samplenorm::data
