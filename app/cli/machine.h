#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace samplenorm::cli {

/// What every record of figures begins with: the command, the versions, the processor and the number of threads.
nlohmann::json record_header(const std::string& command);

/// "AMD EPYC, 2 threads", for people.
std::string machine_line();

}  // namespace samplenorm::cli
