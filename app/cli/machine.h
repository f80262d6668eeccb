#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace samplenorm::cli {

/// What every record of figures begins with: the command, the date, the versions, the commit that the program was built
/// from ("-dirty" with changes that are in none), the processor, the number of threads and the load just now.
nlohmann::json record_header(const std::string& command);

/// "AMD EPYC, 2 threads", for people.
std::string machine_line();

/// Says so on stderr where so much else runs that timings cannot be relied on.
void warn_of_load();

}  // namespace samplenorm::cli
