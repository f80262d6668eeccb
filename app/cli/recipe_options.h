#pragma once

// A recipe on the command line: --recipe, an option for each field that is often changed, and --set for all.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "train/recipe.h"

namespace samplenorm::cli {

struct RecipeOptions {
  std::string recipe;                        ///< name or file; empty: not given
  std::map<std::string, std::string> given;  ///< fields that have an option of their own, by their names
  std::vector<std::string> set;              ///< "key=value"
};

void add_recipe_options(CLI::App& command, RecipeOptions& options);

/// The recipe with what the command line changes. `base` is used where --recipe is not given. Throws Error.
train::Recipe resolve(const RecipeOptions& options, const train::Recipe& base);

/// All fields with their meaning and their values in the recipe "quick", for --help.
std::string describe_fields();

/// Where a run goes if nobody says where: "runs/resnet20-cifar10-LS-1_64-1".
std::filesystem::path default_run_folder(const train::Recipe& recipe);

}  // namespace samplenorm::cli
