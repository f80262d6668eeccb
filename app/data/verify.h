#pragma once

#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// Reads every image of a data set and compares counts, labels and digests with what is known of it. Returns a sentence
/// for each half. Throws Error at the first thing that is not as it should be.
std::vector<std::string> verify_data_set(DataOptions options);

}  // namespace samplenorm::data
