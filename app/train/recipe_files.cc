// Where recipes come from: the named ones, and JSON.

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "samplenorm/error.h"
#include "train/nearest.h"
#include "train/recipe.h"

namespace samplenorm::train {
namespace {

using Json = nlohmann::ordered_json;  // fields stay in the order of the table

/// The paper's, for CIFAR.
Recipe cifar() {
  Recipe recipe;
  recipe.epochs = 130;
  recipe.batch = 128;
  recipe.schedule = "steps";
  recipe.milestones = {50, 80, 110};
  recipe.warm_up = 0;
  recipe.weight_decay = 2e-4;
  return recipe;
}

/// The paper's, for ImageNet.
Recipe imagenet() {
  Recipe recipe;
  recipe.model = "resnet18";
  recipe.data = "folder";
  recipe.epochs = 100;
  recipe.batch = 256;
  recipe.rate_batch = 256;
  recipe.schedule = "steps";
  recipe.milestones = {30, 60, 80, 90};
  recipe.warm_up = 0;
  recipe.weight_decay = 1e-4;
  return recipe;
}

struct NamedRecipe {
  const char* name;
  Recipe (*make)();
};
constexpr NamedRecipe kRecipes[] = {{"quick", [] { return Recipe(); }}, {"cifar", cifar}, {"imagenet", imagenet}};

std::string as_text(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number()) return value.dump();
  if (value.is_array()) {
    std::string list;
    for (const Json& item : value) list += (list.empty() ? "" : ",") + as_text(item, key, where);
    return list;
  }
  throw Error(fmt::format("{}: the value of '{}' should be a text, a number, true, false or a list", where, key));
}

Json parse_object(const std::string& text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(fmt::format("{} is not JSON: {}", where, error.what()));
  }
  if (!json.is_object())
    throw Error(fmt::format("{}: a recipe should be a JSON object, as in {{\"epochs\": 8}}", where));
  return json;
}

Recipe named(const std::string& name, const std::string& where) {
  for (const NamedRecipe& recipe : kRecipes)
    if (name == recipe.name) return recipe.make();
  throw Error(fmt::format("{}there is no recipe '{}'; the nearest is '{}', and a file's name ends in .json", where,
                          name, nearest(name, recipe_names())));
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const NamedRecipe& recipe : kRecipes) names.emplace_back(recipe.name);
  return names;
}

Recipe find_recipe(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) return named(name_or_file, "");
  std::ifstream file(name_or_file);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) throw Error(fmt::format("cannot read the recipe {}", name_or_file));
  return recipe_from_json(text.str(), name_or_file);
}

std::string to_json(const Recipe& recipe) {
  Json json = Json::object();
  for (const RecipeField& field : recipe_fields())
    std::visit([&](auto member) { json[field.name] = recipe.*member; }, field.member);
  return json.dump(2);
}

Recipe recipe_from_json(const std::string& text, const std::string& where) {
  Json json = parse_object(text, where);
  Recipe recipe;
  if (const auto base = json.find("recipe"); base != json.end()) {
    if (base->is_object()) {
      json = Json(*base);
    } else {
      recipe = named(as_text(*base, "recipe", where), where + ": ");
      json.erase("recipe");
    }
  }
  for (const auto& [key, value] : json.items()) set_field(recipe, key, as_text(value, key, where), where);
  return recipe;
}

}  // namespace samplenorm::train
