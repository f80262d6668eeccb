#pragma once

#include <map>
#include <string>
#include <string_view>

namespace samplenorm::report {

/// The files of web/ and the libraries that they use, by name, as they were when the program was built
/// (cmake/embed.cmake writes this function).
std::map<std::string, std::string_view> web_files();

}  // namespace samplenorm::report
