#pragma once

#include <string>

namespace samplenorm::cli {

/// Gets a data set that `samplenorm data fetch` knows to get, unless it is there or `folder` says where it is; what it
/// does is said on stderr. Throws Error.
void fetch_if_missing(const std::string& name, const std::string& folder = {});

}  // namespace samplenorm::cli
