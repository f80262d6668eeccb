#include "train/description.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace samplenorm::train {

using Json = nlohmann::ordered_json;

std::string described(const Recipe& recipe, const std::string& description, int ranks) {
  Json json = description.empty() ? Json::object() : Json::parse(description);
  json["ranks"] = ranks;
  json["recipe"] = Json::parse(to_json(recipe));
  return json.dump(2) + "\n";
}

std::optional<int> ranks_of_run_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "recipe.json");
  const Json json = Json::parse(file, /*callback=*/nullptr, /*allow_exceptions=*/false);
  const auto ranks = json.is_object() ? json.find("ranks") : json.end();
  if (ranks == json.end() || !ranks->is_number_integer()) return {};
  return ranks->get<int>();
}

}  // namespace samplenorm::train
