#pragma once

// Figures as the tables of `samplenorm profile` show them.

#include <fmt/format.h>

#include <string>

namespace samplenorm::cli {

inline std::string milliseconds(double seconds) { return fmt::format("{:.2f}", 1e3 * seconds); }
inline std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

}  // namespace samplenorm::cli
