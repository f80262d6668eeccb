#pragma once

// recipe.json, by which a run describes itself.

#include <filesystem>
#include <optional>
#include <string>

#include "train/recipe.h"

namespace samplenorm::train {

/// JSON: what `description` (a JSON object, or empty) says, how many processes train, and the recipe.
std::string described(const Recipe& recipe, const std::string& description, int ranks);

/// How many processes trained the run in the folder last, if its recipe.json says so.
std::optional<int> ranks_of_run_in(const std::filesystem::path& folder);

}  // namespace samplenorm::train
