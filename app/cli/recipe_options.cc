#include "cli/recipe_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

constexpr std::array kFieldsWithOption = {"model",      "data",        "norm",  "epochs", "batch",
                                          "stat_batch", "rate",        "limit", "seed",   "recalibrate",
                                          "workers",    "data_folder", "sync"};

std::string option_name(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

}  // namespace

void add_recipe_options(CLI::App& command, RecipeOptions& options) {
  command.add_option("--recipe", options.recipe,
                     fmt::format("{}, or a file NAME.json; default: quick", fmt::join(train::recipe_names(), ", ")));
  for (const train::RecipeField& field : train::recipe_fields()) {
    const std::string name = field.name;
    if (std::find(kFieldsWithOption.begin(), kFieldsWithOption.end(), name) == kFieldsWithOption.end()) continue;
    const auto give = [&options, name](const std::string& value) { options.given[name] = value; };
    if (std::holds_alternative<bool train::Recipe::*>(field.member)) {
      command.add_flag_callback(
          option_name(name), [give] { give("true"); }, field.help);
    } else {
      command.add_option_function<std::string>(option_name(name), give, field.help);
    }
  }
  command.add_option("--set", options.set, "KEY=VALUE changes any field of the recipe; can be repeated")
      ->allow_extra_args(false);
}

train::Recipe resolve(const RecipeOptions& options, const train::Recipe& base) {
  train::Recipe recipe = options.recipe.empty() ? base : train::find_recipe(options.recipe);
  for (const auto& [field, value] : options.given) train::set_field(recipe, field, value, option_name(field));
  for (const std::string& assignment : options.set) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) throw Error(fmt::format("--set {}: expected KEY=VALUE", assignment));
    train::set_field(recipe, assignment.substr(0, equals), assignment.substr(equals + 1), "--set " + assignment);
  }
  return recipe;
}

std::string describe_fields() {
  std::string text = "Fields of a recipe, with the values of 'quick':\n";
  for (const train::RecipeField& field : train::recipe_fields()) {
    const std::string value = train::field_text({}, field);
    std::string help = field.help;
    if (!field.choices.empty()) help += fmt::format(" ({})", fmt::join(field.choices, "|"));
    text += fmt::format("  {:<28} {}\n", fmt::format("{}={}", field.name, value), help);
  }
  return text;
}

std::filesystem::path default_run_folder(const train::Recipe& recipe) {
  std::string name = fmt::format("{}-{}-{}-{}", recipe.model, recipe.data, train::full_notation(recipe), recipe.seed);
  const auto is_safe = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-+.=", c); };
  for (char& c : name)
    if (!is_safe(c)) c = '_';
  return std::filesystem::path("runs") / name;
}

}  // namespace samplenorm::cli
