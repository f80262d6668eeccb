#pragma once

// A recipe: all that decides how a run goes. Its fields are declared once, in recipe_fields(), and parsed, printed,
// explained and compared from there.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace samplenorm::train {

/// The defaults are those of the recipe "quick".
struct Recipe {
  std::string model = "resnet20";
  std::string data = "cifar10";
  std::string data_folder = {};
  bool strict = false;
  int64_t limit = 0;
  std::string norm = "LS-1/64";
  int64_t stat_batch = 0;
  bool sync = false;
  std::string activation = "relu";
  int64_t epochs = 8;
  int64_t batch = 128;
  double rate = 0.1;
  int64_t rate_batch = 0;
  std::string schedule = "one-cycle";
  std::vector<int64_t> milestones = {};
  double warm_up = 0.25;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;
  double label_smoothing = 0;
  std::string precision = "float32";
  int64_t seed = 1;
  int64_t recalibrate = 0;
  int64_t eval_every = 1;
  int64_t workers = 1;
  int64_t checkpoint_every = 0;
  int64_t checkpoint_seconds = 600;

  bool operator==(const Recipe&) const = default;
};

/// A field's meaning, bounds and place in the struct.
struct RecipeField {
  using Member = std::variant<std::string Recipe::*, int64_t Recipe::*, double Recipe::*, bool Recipe::*,
                              std::vector<int64_t> Recipe::*>;
  const char* name;
  Member member;
  const char* help;
  /// Whether another value gives other weights, so that a run cannot be resumed with it.
  bool decides_weights = true;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};
};

const std::vector<RecipeField>& recipe_fields();

/// A field's value as set_field() reads it: lists with commas.
std::string field_text(const Recipe& recipe, const RecipeField& field);
/// Throws Error, which says where (`where`: "--set", a file), for an unknown key (and names the nearest) or a wrong
/// value.
void set_field(Recipe& recipe, const std::string& key, const std::string& text, const std::string& where);

/// "quick", "cifar", "imagenet"; DESIGN, section 5.
std::vector<std::string> recipe_names();
/// By its name, or from a file (a name that ends in ".json"). Throws Error.
Recipe find_recipe(const std::string& name_or_file);

/// All fields as a JSON object.
std::string to_json(const Recipe& recipe);
/// From an object of fields, which may name the recipe to start from under "recipe"; or from the record of a run
/// (its recipe.json), where "recipe" is the object of fields. Throws Error.
Recipe recipe_from_json(const std::string& text, const std::string& where);

/// Nothing if a run of one can be resumed with the other; else the first difference: "norm is BN there and LS-1/64
/// here".
std::optional<std::string> difference(const Recipe& there, const Recipe& here);

/// The norm with the recipe's stat_batch. Throws Error where the norm cannot have one, or cannot be pooled as `sync`
/// asks.
std::string full_notation(const Recipe& recipe);

}  // namespace samplenorm::train
