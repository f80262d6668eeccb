#pragma once

#include <cstdio>
#include <string>

namespace samplenorm::cli {

/// Tells a person something on stderr or stdout. Unlike fmt::print() it does not throw: a terminal that was closed must
/// not end a run before its checkpoint.
inline void say(std::FILE* to, const std::string& text) { std::fputs(text.c_str(), to); }

}  // namespace samplenorm::cli
